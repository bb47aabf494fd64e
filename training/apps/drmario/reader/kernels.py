"""Kernels over pixels: the frames of a camera, and interpolation between pixels of an image."""

from __future__ import annotations

import numpy as np

from fastenv.numba_cache import cached_njit


@cached_njit(nogil=True, inline="always")
def _interpolate(
    image,  # IN float32 or uint8 (H, W, 3)
    x,  # IN float32, in pixels from the middle of the first
    y,
):
    """Interpolate the three numbers at a point, 0 outside, and how much of it is inside."""
    rows, columns = image.shape[0], image.shape[1]
    left, top = np.int32(np.floor(x)), np.int32(np.floor(y))
    right_share, down_share = x - np.float32(left), y - np.float32(top)
    if 0 <= left < columns - 1 and 0 <= top < rows - 1:
        a, b = image[top, left], image[top, left + 1]
        c, d = image[top + 1, left], image[top + 1, left + 1]
        of_d = right_share * down_share
        of_b, of_c = right_share - of_d, down_share - of_d
        of_a = np.float32(1) - right_share - of_c
        return (
            of_a * a[0] + of_b * b[0] + of_c * c[0] + of_d * d[0],
            of_a * a[1] + of_b * b[1] + of_c * c[1] + of_d * d[1],
            of_a * a[2] + of_b * b[2] + of_c * c[2] + of_d * d[2],
            np.float32(1),
        )
    red = green = blue = inside = np.float32(0)
    for down in range(2):
        row = top + down
        of_row = down_share if down else np.float32(1) - down_share
        for right in range(2):
            column = left + right
            if 0 <= row < rows and 0 <= column < columns:
                share = of_row * (right_share if right else np.float32(1) - right_share)
                red += share * image[row, column, 0]
                green += share * image[row, column, 1]
                blue += share * image[row, column, 2]
                inside += share
    return red, green, blue, inside


@cached_njit(nogil=True)
def sample(
    images,  # IN float32 (n, H, W, 3)
    points,  # IN float32 (1 or n, k, 2), right and down
    matrix,  # IN float32 (n, 2, 2)
    shift,  # IN float32 (n, 2)
    out,  # OUT float32 (n, k, 3)
):
    """Interpolate images at points between their pixels, into ``out``; 0 outside."""
    middle_x = np.float32((images.shape[2] - 1) / 2)
    middle_y = np.float32((images.shape[1] - 1) / 2)
    for n in range(len(images)):
        image, m = images[n], matrix[n]
        right, down = shift[n, 0] + middle_x, shift[n, 1] + middle_y
        own = points[n % len(points)]
        for k in range(len(own)):
            p, q = own[k, 0], own[k, 1]
            x, y = m[0, 0] * p + m[0, 1] * q + right, m[1, 0] * p + m[1, 1] * q + down
            red, green, blue, _ = _interpolate(image, x, y)
            out[n, k, 0], out[n, k, 1], out[n, k, 2] = red, green, blue


@cached_njit(nogil=True)
def place(
    picture,  # IN uint8 (H, W, 3)
    back,  # IN float32 (2, 2), from the frame to the picture
    shift,  # IN float32 (2,)
    colours,  # IN float32 (3, 3)
    ground,  # IN float32 (3,)
    out,  # OUT float32 (rows, 3 * columns)
):
    """Write a frame with a picture in its place, in its colours, on its ground."""
    rows, columns = out.shape[0], out.shape[1] // 3
    middle_x = np.float32((picture.shape[1] - 1) / 2)
    middle_y = np.float32((picture.shape[0] - 1) / 2)
    c = colours / np.float32(255)
    for row in range(rows):
        q = np.float32(row - (rows - 1) / 2) - shift[1]
        for column in range(columns):
            p = np.float32(column - (columns - 1) / 2) - shift[0]
            x = back[0, 0] * p + back[0, 1] * q + middle_x
            y = back[1, 0] * p + back[1, 1] * q + middle_y
            red, green, blue, inside = _interpolate(picture, x, y)
            for i in range(3):
                value = c[i, 0] * red + c[i, 1] * green + c[i, 2] * blue
                out[row, 3 * column + i] = value + (np.float32(1) - inside) * ground[i]


@cached_njit(nogil=True)
def develop(
    placed,  # IN float32 (rows, 3 * columns)
    weights,  # IN float32 (2 * reach + 1,), of the blur
    light,  # IN float32 (2,), right and down
    tone,  # IN float32 (2,), contrast and what is added
    curve,  # IN float32 (steps + 2,), of the gamma
    noise,  # IN float32 (many,)
    begins,  # IN int64 (rows,), where the noise of each row begins
    deviation,  # IN float32, of the noise
    out,  # OUT uint8 (rows, 3 * columns)
):
    """Write a frame as a camera shows it: blurred, in its light, with its noise."""
    rows, numbers = placed.shape
    columns, reach, steps = numbers // 3, len(weights) // 2, len(curve) - 2
    wide = np.empty(numbers + 6 * reach, np.float32)
    line = np.empty(numbers, np.float32)
    across = np.empty(numbers, np.float32)
    for column in range(columns):
        across[3 * column : 3 * column + 3] = light[0] * np.float32(2 * column / (columns - 1) - 1)
    for row in range(rows):
        inner = wide[3 * reach : 3 * reach + numbers]
        inner[:] = 0
        for k in range(len(weights)):
            of, weight = placed[min(max(row + k - reach, 0), rows - 1)], weights[k]
            for j in range(numbers):
                inner[j] += weight * of[j]
        for k in range(reach):
            for i in range(3):
                wide[3 * k + i] = inner[i]
                wide[3 * (reach + columns + k) + i] = inner[numbers - 3 + i]
        line[:] = 0
        for k in range(len(weights)):
            of, weight = wide[3 * k : 3 * k + numbers], weights[k]
            for j in range(numbers):
                line[j] += weight * of[j]
        down = np.float32(1) + light[1] * np.float32(2 * row / (rows - 1) - 1)
        own = noise[begins[row] : begins[row] + numbers]
        half, one = np.float32(0.5), np.float32(1)
        for j in range(numbers):
            value = (line[j] * (down + across[j]) - half) * tone[0] + tone[1]
            line[j] = min(max(value, np.float32(0)), one) * np.float32(steps)
        for j in range(numbers):
            step = np.int32(line[j])
            low = curve[step]
            line[j] = low + (curve[step + 1] - low) * (line[j] - np.float32(step))
        for j in range(numbers):
            value = min(max(line[j] + own[j] * deviation, np.float32(0)), one)
            out[row, j] = np.uint8(np.int32(value * np.float32(255) + half))
