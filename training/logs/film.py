"""Write episodes as films, GIF or MP4."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from fastenv.errors import FastEnvError
from training.run import files

SUFFIXES = (".gif", ".mp4")


class FilmError(FastEnvError, RuntimeError):
    """A film cannot be made; the message says what is missing."""


def check(path: Path) -> None:
    """Refuse a film that cannot be written here, before an episode is played for it.

    Raises
    ------
    FilmError
        Says which endings there are, or what to install.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise FilmError(f"{path}: a film must end in {' or '.join(SUFFIXES)}.")
    if path.suffix.lower() == ".mp4":
        _ffmpeg()
        return
    try:
        import PIL.Image  # noqa: F401
    except ImportError as error:
        raise FilmError(f"{path}: a GIF needs Pillow: pip install '.[notebooks]'.") from error


def write(path: Path, pictures: Iterable[np.ndarray], fps: float = 2.0) -> None:
    """Write a film, whole or not at all.

    Parameters
    ----------
    path : Path
        Ends in ``.gif`` or ``.mp4``.
    pictures : iterable of ndarray of uint8, shape (H, W, 3)
        At least one. Smaller ones get a black edge right and below.
    fps : float
        Pictures a second.

    Raises
    ------
    FilmError
    """
    check(path)
    pictures = _pad_to_largest(pictures)
    first = next(pictures, None)
    if first is None:
        raise FilmError(f"{path}: a film needs at least one picture.")
    write_one = _write_gif if path.suffix.lower() == ".gif" else _write_mp4
    write_one(path, first, pictures, fps)


def _pad_to_largest(pictures: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Pad pictures to the size of the largest, which is known once the last is there.

    Until then they are kept compressed: an episode may have thousands, of megabytes each.
    """
    kept = [(p.shape, zlib.compress(p.tobytes(), level=1)) for p in pictures]
    height, width = (max((shape[axis] for shape, _ in kept), default=0) for axis in (0, 1))
    for shape, content in kept:
        whole = np.zeros((height, width, 3), np.uint8)
        part = np.frombuffer(zlib.decompress(content), np.uint8).reshape(shape)
        whole[: shape[0], : shape[1]] = part
        yield whole


def _write_gif(path: Path, first: np.ndarray, others: Iterator[np.ndarray], fps: float) -> None:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(first).save(
        content,
        format="GIF",
        save_all=True,
        append_images=map(Image.fromarray, others),
        duration=max(20, round(1000 / fps)),  # viewers take less for a mistake
        loop=0,
    )
    files.write_bytes(path, content.getvalue())


def _write_mp4(path: Path, first: np.ndarray, others: Iterator[np.ndarray], fps: float) -> None:
    height, width, _ = first.shape
    unfinished = path.with_name(f".tmp-{os.getpid()}-{path.name}")
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {fps:g} -i -"
    # Players want yuv420p, which wants even sides.
    target = "-an -vcodec libx264 -pix_fmt yuv420p -vf pad=ceil(iw/2)*2:ceil(ih/2)*2"
    command = [_ffmpeg(), "-y", "-loglevel", "error", *source.split(), *target.split()]
    try:
        with subprocess.Popen(
            [*command, str(unfinished)], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            messages = b"".join(_feed(process, chain([first], others)))
        if process.returncode != 0:
            reason = messages.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise FilmError(f"{path}: ffmpeg could not write it: {reason[-1]}.")
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _feed(process: subprocess.Popen[bytes], pictures: Iterable[np.ndarray]) -> Iterator[bytes]:
    """Send pictures to ffmpeg; yield its messages at the end."""
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        for picture in pictures:
            process.stdin.write(np.ascontiguousarray(picture).tobytes())
        process.stdin.close()
    except BrokenPipeError:  # it has given up; its messages say why
        pass
    yield process.stderr.read()


def _ffmpeg() -> str:
    """Find the program that writes MP4.

    Raises
    ------
    FilmError
    """
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        program = shutil.which("ffmpeg")
    if program is None:
        raise FilmError(
            "an MP4 needs ffmpeg: install it, or pip install imageio-ffmpeg, or write a .gif."
        )
    return program
