// Pictures of four shades, packed four pixels a byte, the first in the low bits.

const SHADES = [[232, 240, 208], [168, 184, 128], [88, 112, 80], [24, 40, 32]];
const TABLE = new Uint32Array(256 * 4);
for (let byte = 0; byte < 256; byte += 1) {
  for (let k = 0; k < 4; k += 1) {
    const [red, green, blue] = SHADES[(byte >> (2 * k)) & 3];
    TABLE[4 * byte + k] = (255 << 24) | (blue << 16) | (green << 8) | red;
  }
}
const images = new WeakMap();

export function paint(canvas, pixels, width, height) {
  let image = images.get(canvas);
  if (!image || image.width !== width || image.height !== height) {
    canvas.width = width;
    canvas.height = height;
    image = new ImageData(width, height);
    images.set(canvas, image);
  }
  const out = new Uint32Array(image.data.buffer);
  for (let k = 0, at = 0; k < pixels.length; k += 1, at += 4) {
    const from = 4 * pixels[k];
    out[at] = TABLE[from];
    out[at + 1] = TABLE[from + 1];
    out[at + 2] = TABLE[from + 2];
    out[at + 3] = TABLE[from + 3];
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}
