"""Samples of the sound as a file that plays anywhere (docs/gameboy.md, 10.2)."""

from __future__ import annotations

import io
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fastenv.files import write_bytes
from fastenv.gameboy.tables import SAMPLE_RATE
from fastenv.options import refusal


def save_wav(path: str | Path, samples: npt.NDArray[np.int16]) -> None:
    """Write samples to a WAV file of two channels, 31,775 samples a second.

    Parameters
    ----------
    path : str or Path
    samples : ndarray of int16, shape (..., 2)
        In order of time, such as ``infos["audio"][lane]`` of some steps, one behind the other.

    Raises
    ------
    ConfigError
        If they are not of that type or shape; no file is written.
    """
    if samples.dtype != np.int16 or samples.shape[-1:] != (2,):
        shown = f"{samples.dtype} of shape {samples.shape}"
        raise refusal("samples", shown, "int16 of shape (..., 2)")
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(round(SAMPLE_RATE))
        file.writeframes(samples.astype("<i2").tobytes())
    write_bytes(path, content.getvalue())
