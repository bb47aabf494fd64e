import sys

import numpy as np
import pytest
from PIL import Image

from training.logs import film
from training.logs.film import FilmError

SHADES = (0, 90, 180)


def pictures():
    """Three pictures, odd in width, each of one shade."""
    for shade in SHADES:
        yield np.full((6, 9, 3), shade, np.uint8)


def test_gif_has_every_picture(tmp_path):
    path = tmp_path / "a.gif"
    film.write(path, pictures(), fps=4.0)
    with Image.open(path) as found:
        assert found.n_frames == 3
        assert found.info["duration"] == 250
        for k, shade in enumerate(SHADES):
            found.seek(k)
            assert found.convert("RGB").getpixel((4, 3)) == (shade,) * 3
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


def test_smaller_pictures_get_an_edge(tmp_path):
    wide, high = np.full((4, 9, 3), 90, np.uint8), np.full((6, 5, 3), 180, np.uint8)
    film.write(tmp_path / "a.gif", iter([wide, high]))
    with Image.open(tmp_path / "a.gif") as found:
        shown = []
        for k in range(found.n_frames):
            found.seek(k)
            shown.append(np.array(found.convert("RGB")))
    for picture, shade, (height, width) in zip(shown, (90, 180), ((4, 9), (6, 5)), strict=True):
        assert picture.shape == (6, 9, 3)
        assert (picture[:height, :width] == shade).all()
        assert picture.sum() == 3 * shade * height * width  # the rest is black


def test_mp4_is_made_of_the_same_pictures(tmp_path, monkeypatch):
    """A program in the place of ffmpeg keeps what it was told and given."""
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" > "$last"\ncat >> "$last"\n')
    program.chmod(0o755)
    monkeypatch.setattr(film, "_ffmpeg", lambda: str(program))
    film.write(tmp_path / "a.mp4", pictures(), fps=2.0)
    said, _, given = (tmp_path / "a.mp4").read_bytes().partition(b"\n")
    assert b"-s 9x6 -r 2 " in said
    assert given == b"".join(picture.tobytes() for picture in pictures())


def test_mp4_that_fails_says_why_and_leaves_nothing(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(film, "_ffmpeg", lambda: str(program))
    with pytest.raises(FilmError, match=r"a\.mp4: ffmpeg could not write it: no such codec"):
        film.write(tmp_path / "a.mp4", pictures())
    assert [p.name for p in tmp_path.iterdir()] == ["ffmpeg"]


def test_other_endings_and_empty_films_are_refused(tmp_path):
    with pytest.raises(FilmError, match=r"a\.avi: a film must end in \.gif or \.mp4"):
        film.write(tmp_path / "a.avi", pictures())
    with pytest.raises(FilmError, match="at least one picture"):
        film.write(tmp_path / "a.gif", [])


def test_what_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(FilmError, match=r"needs ffmpeg: install it, or pip install imageio-ffmpeg"):
        film.check(tmp_path / "a.mp4")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(FilmError, match=r"needs Pillow: pip install '\.\[notebooks\]'"):
        film.check(tmp_path / "a.gif")
