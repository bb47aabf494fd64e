"""The bars of the replay: what is timed does what it says, and rows become verdicts."""

import pytest

from benchmarks import replay as suite
from training.bench.targets import judge
from training.dqn.run import make_trainer


@pytest.mark.slow
def test_drawing_by_priority_and_by_chance_take_turns_on_one_full_replay():
    works = suite.store_works(capacity=2048, lanes=16)
    assert set(works) == {"write", "uniform", "prioritised"}
    for work in works.values():
        work.prepare()
        work.run()
    replay = works["uniform"].prepare.args[0]
    assert replay.size == replay.rows - 1
    assert replay.obs.shape[2:] == (203,)
    works["prioritised"].prepare()
    assert replay.priorities is not None
    assert replay.sample(256, 0.4).weight.min() < 1
    works["uniform"].prepare()
    assert replay.priorities is None


@pytest.mark.parametrize("lanes", [1, 64])
@pytest.mark.slow
def test_ours_takes_as_many_updates_a_step_as_sb3(lanes):
    trainer = make_trainer(suite.dqn_config(lanes))
    trainer.update = lambda: setattr(trainer, "updates", trainer.updates + 1) or 0
    for _ in range(2):
        trainer.iterate()
    taken = 2 * suite.SB3_STEPS - suite.STARTS
    assert trainer.updates == pytest.approx(taken * 8 / 256, abs=3)


def row(name, speeds, **more):
    fields = {"steps_per_cpu_s": speeds[1], "steps_per_cpu_s_all": speeds, "steps_per_s": 1.0}
    return {"name": name, "noisy": False, **fields, **more}


def test_rows_become_verdicts():
    share = {"share_env": 0.04, "share_env_all": [0.03, 0.04, 0.2]}
    rows = [
        *(row("write", [4e6, 6e6, 7e6]), row("uniform", [1e4] * 3)),
        *(
            row("prioritised", [1e6 / 150, 1e6 / 170, 1e6 / 150]),
            row("acting fp32", [9e4] * 3, judged=True),
        ),
        *(row("SB3's DQN, one env", [100.0, 100, 200]), row("ours, lanes 1", [100.0, 300, 200])),
        *(row("ours, lanes 64", [600.0] * 3), row("pixels PPO", [1.0] * 3, **share)),
        row("pixels DQN", [1.0] * 3, share_env=0.06, share_env_all=[0.06] * 3),
    ]
    found = judge("replay", suite.with_difference(rows))
    assert [b["measured"] for b in found[:3]] == pytest.approx([6e6, 100.0, 50.0])
    assert [b["pass"] for b in found] == [True, True, True, False, False, True, True, False]
    assert found[4]["all"] == [1.0, 3.0, 1.0]
