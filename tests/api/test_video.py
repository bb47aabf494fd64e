"""Films and windows by Gymnasium's own wrappers, over the pictures of an environment."""

import gymnasium
import numpy as np
import pytest

import fastenv  # noqa: F401 - registers the ids
from tests.needs import needs_core

pytest.importorskip("PIL")


def play(env, steps):
    """Take the first legal action in every step."""
    env.reset(seed=0)
    for _ in range(steps):
        mask = env.get_wrapper_attr("action_masks")()
        env.step(int(np.flatnonzero(mask)[0]))
    env.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # moviepy and what it needs are not quiet
@pytest.mark.parametrize(
    "env_id",
    [
        "fastenv/SkullKingFlat-v0",
        "fastenv/Prospector-v0",
        pytest.param("fastenv/LanternWalk-v0", marks=needs_core),  # its reference takes minutes
    ],
)
def test_record_video_writes_what_is_rendered(env_id, tmp_path):
    pytest.importorskip("moviepy")
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    env = gymnasium.make(env_id, render_mode="rgb_array")
    size = env.reset(seed=0) and env.render().shape
    env = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "films"))
    play(env, 7)
    (film,) = tmp_path.glob("films/*.mp4")
    frames, seconds = ffmpeg.count_frames_and_secs(str(film))
    assert frames == 8
    assert seconds == pytest.approx(8 / env.metadata["render_fps"], rel=0.1)
    reader = ffmpeg.read_frames(str(film))
    assert next(reader)["size"] == (size[1], size[0])
    reader.close()


@pytest.mark.filterwarnings("default")
def test_a_window_shows_the_pictures(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    pytest.importorskip("pygame")
    env = gymnasium.make("fastenv/SkullKingFlat-v0", render_mode="human")
    assert env.render_mode == "human"
    env.metadata["render_fps"] = 1000
    play(env, 2)
