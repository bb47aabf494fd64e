"""The one JSON object that ``python -m benchmarks.gameboy_steps`` prints."""

import json

import numpy as np
import pytest

from benchmarks import gameboy_steps as gameboy
from tests.needs import needs_core
from tests.slow import every

SHORT = ["--num-envs", "3", "--warmup-steps", "1", "--bench-steps", "3", "--frames-per-step", "2",
         "--release-after-frames", "1"]  # fmt: skip


@pytest.fixture
def measure(capsys):
    def run(*arguments):
        status = gameboy.main([*SHORT, *arguments])
        out, err = capsys.readouterr()
        return status, json.loads(out) if out else err

    return run


@needs_core
def test_the_object_says_what_was_measured(measure, tmp_path):
    file = tmp_path / "found.json"
    status, found = measure("--state", "lantern_walk", "--json-out", str(file))
    assert status == 0
    assert json.loads(file.read_text(encoding="utf-8")) == found
    assert found["rom"]["title"] == "LANTERN WALK"
    assert len(found["rom"]["sha256"]) == 64
    assert (
        found["options"] | {"num_envs": 3, "frames_per_step": 2, "seed": 1234} == found["options"]
    )
    assert found["instructions_per_frame"] > 200
    assert found["frames_per_sec"] == pytest.approx(2 * found["env_steps_per_sec"])
    assert found["ms_per_step"] == pytest.approx(3e3 / found["env_steps_per_sec"])
    assert found["realtime_factor"] == pytest.approx(found["frames_per_sec"] / 59.7275, rel=1e-4)
    assert found["mem_delta"] == found["mem_after"] - found["mem_before"]
    assert (found["resets"], "error" in found) == (0, False)


@needs_core
@pytest.mark.parametrize("mode", every(3, gameboy.INFO_MODES))
def test_every_step_resets_where_that_is_asked_for(measure, mode):
    _, found = measure("--force-resets", "--info-mode", mode, "--pixels", "packed72x20")
    assert found["resets"] == 3 * 3
    assert found["instructions_per_frame"] > 200


@needs_core
def test_what_is_missed_is_an_error(measure):
    status, found = measure("--max-mem-delta", "-1000000000000", "--fps-floor", "1e12")
    assert status == 1
    assert "memory grew by" in found["error"]
    assert "frames a CPU second" in found["error"]


@needs_core
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["--stack-k", "0"], "stack_k=0"), (["--rom", "none.gb"], "none.gb"),
     (["--num-envs", "0"], "num_envs"), (["--goal-dir", "nowhere"], "nowhere")],
)  # fmt: skip
def test_what_is_not_possible_is_refused(measure, arguments, sentence):
    status, sentence_found = measure(*arguments)
    assert status == 2
    assert sentence in sentence_found


@needs_core
def test_steps_of_a_goal_count_their_resets():
    args = gameboy.parser().parse_args(
        [*SHORT[:-4], "--goal-dir", "lantern_walk", "--max-steps", "2", "--stack-k", "1"]
    )
    player = gameboy.Player(gameboy.make(args), 0)
    player.play(4)
    assert player.resets == 3 * 2
    assert np.isfinite(player.vec.engine.reward).all()
