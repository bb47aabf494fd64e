"""What the benchmark says of learning: slopes, noise, times to a reward; use of the machine."""

import io
import json
import math
import os
import signal
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
import torch
from rich.console import Console
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from tests.tables import walk
from training import benchmark_v9
from training.bench import configs, games, learning, runner, tables
from training.bench.learning import Curve, Estimate, Use
from training.bench.stock import Flags, Stopwatch
from training.run import machine
from training.sb3.vec import TrainerVecEnv


def test_a_straight_line_has_its_slope_and_no_noise():
    found = learning.fit_slope([0, 1, 4, 9], [2, 2.5, 4, 6.5])
    assert found.value == pytest.approx(0.5)
    assert found.noise == pytest.approx(0, abs=1e-12)
    assert not found.is_noise
    assert learning.fit_slope([0, 1], [1, 3]) == (2, None)
    assert math.isnan(learning.fit_slope([1, 1], [1, 3]).value)


def test_noise_of_a_slope_is_its_interval():
    """Lines with known scatter: about as many slopes lie outside as should, of few points too."""
    rng = np.random.default_rng(7)
    for count in (3, 6, 40):
        x = np.linspace(0, 10, count)
        lines = [3.0 * x + rng.normal(0, 5, count) for _ in range(1000)]
        found = [learning.fit_slope(x, line) for line in lines]
        assert 0.025 < np.mean([abs(each.value - 3.0) > each.noise for each in found]) < 0.085
        flat = [learning.fit_slope(x, line - 3.0 * x).is_noise for line in lines]
        assert np.mean(flat) > 0.9


@walk(
    ("repeats", "value", "noise"),
    [
        ([Estimate(1, None)], 1, None),
        ([Estimate(1, 0.5)], 1, 0.5),
        ([Estimate(1, 0.1), Estimate(3, 0.1)], 2, 12.7062),  # they lie apart
        ([Estimate(2, 3.0), Estimate(2, 4.0)], 2, 2.5),  # each is noisy
        ([Estimate(1, None), Estimate(3, None)], 2, 12.7062),
    ],
)
def test_repeats_are_combined_by_the_larger_noise(repeats, value, noise):
    found = learning.combine(repeats)
    assert found.value == pytest.approx(value)
    assert found.noise == (None if noise is None else pytest.approx(noise))


def test_the_time_to_a_reward_is_that_of_the_newest_decisions(monkeypatch):
    monkeypatch.setattr(learning, "WINDOW", 200)
    curve = Curve([0, 100, 200, 300, 400], [0, 10, 20, 30, 40], [0.0, 9.0, 0.0, 3.0, 4.0])
    assert learning.find_time(curve, 3.5) == 10  # the mean of the first two
    assert learning.find_time(curve, 5.0) is None
    assert learning.find_time(Curve([0], [0], [9.0]), 1.0) is None
    monkeypatch.setattr(learning, "WINDOW", 1000)
    assert learning.find_time(curve, 0.0) is None  # not so many decisions were taken


@walk(
    ("times", "median", "count"),
    [
        ([4.0], 4.0, 1),
        ([None], None, 0),
        ([4.0, 6.0, None], 6.0, 2),
        ([4.0, None, None], None, 1),
        ([4.0, None], None, 1),
    ],
)
def test_repeats_that_do_not_get_there_count_as_longer(times, median, count):
    same = {"reward_per_hour": 1.0, "reward_per_million": 1.0}
    found = learning.summarise([{**same, "seconds_to_goal": each} for each in times], 0.5)
    assert (found["seconds_to_goal"], found["repeats_at_goal"]) == (median, count)


def test_a_trainer_without_a_reward_to_compare_has_none():
    found = learning.summarise([{"steps_per_s": 1.0}], 0.5)
    assert found["goal"] == 0.5
    assert {found[name] for name in found if name != "goal"} == {None}


def test_rewards_that_are_to_be_reached_are_those_of_environments():
    for game in games.GAMES.values():
        goal = learning.find_goal(game.config_env)
        # The console's pixels alone pay nothing.
        assert (goal is None) == (game.config_env == "GameBoyPixels-v0"), game.name
    assert learning.find_goal("Nothing-v0") is None


@walk(
    ("value", "noise", "shown"),
    [
        (None, None, "-"),
        (2.0, 0.5, "+2 ± 0.5"),
        (-2.0, 0.5, "-2 ± 0.5"),
        (0.1, 0.5, "+0.1 ± 0.5, noise"),
        (1.5, None, "+1.5, noise"),
    ],
)
def test_a_cell_whose_noise_is_larger_says_so(value, noise, shown):
    assert tables.format_noise(value, noise) == shown


def make_row(**changes):
    return {
        **{"flags": {"env": "SkullKingFlat-v0"}, "config": "fast", "status": "measured"},
        **{"steps_per_s": 1234.5, "noisy": False, "cpu_share": 0.5, "gpu_share": None},
        **{"reward_per_hour": 2.0, "reward_per_hour_noise": 0.5, "goal": 0.7, "repeats": 3},
        **{"reward_per_million": 0.1, "reward_per_million_noise": 0.5, "trained_s": 30.0},
        **{"repeats_at_goal": 2, "seconds_to_goal": 12.3},
        **changes,
    }


def show(table):
    console = Console(width=200, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


def test_one_table_has_the_five_measures_of_all_games():
    other = {"flags": {"env": "Prospector-v0"}, "gpu_share": 0.25}
    rows = [
        make_row(),
        make_row(config="numba", seconds_to_goal=None, repeats_at_goal=1, noisy=True),
        make_row(config="cython", status="it cannot run here"),
        make_row(**other, goal=None, repeats_at_goal=None, seconds_to_goal=None),
        make_row(**other, config="hierarchical", reward_per_hour=None, repeats_at_goal=None),
    ]
    table = tables.plan_table(rows)
    assert [column.header for column in table.columns] == tables.PLAN.split(", ")
    cells = list(zip(*(column.cells for column in table.columns), strict=True))
    assert cells[0] == (
        *("SkullKingFlat-v0", "fast", "1,234", "50", "-", "+2 ± 0.5", "12 s, 2 of 3", "0.7"),
        "+0.1 ± 0.5, noise",
    )
    assert cells[1][2] == "1,234, noisy"
    assert cells[1][6] == "not reached in 30 s, in 1 of 3"
    assert cells[2][2] == "not measured"
    assert cells[3][0] == "Prospector-v0"
    assert (cells[3][4], cells[3][6], cells[3][7]) == ("25", "-", "-")
    assert cells[4][5] == "-"
    text = show(table)
    for word in ("steps/s:", "CPU %:", "GPU %:", "time to X:", "sample efficiency", "noise:"):
        assert word in text


def test_one_table_has_the_measures_of_any_suite():
    row = {"name": "ours", "env": "A-v0", "backend": "fast", "num_envs": 4096, "noisy": True}
    row |= {"steps_per_s": 1234.5, "steps_per_s_all": [1.0], "torch_threads": 2, "num_threads": 1}
    row |= {"steps_per_cpu_s": 2.0, "steps_per_cpu_s_all": [1.0, 2.0, 3.0]}
    row |= {"share_env": 0.25, "share_env_all": [0.2, 0.25, 0.5], "us_per_step": {"env": 1.5}}
    table = tables.suite_table([row, {"env": "B-v0"}])  # of the second nothing was repeated
    cells = list(zip(*(column.cells for column in table.columns), strict=True))
    assert cells == [
        ("A-v0, ours, noisy", "fast", "4,096", "2", "1,234", "steps_per_cpu_s", "2", "1..3"),
        (*[""] * 5, "share_env", "25.0%", "20.0%..50.0%"),
        (*[""] * 5, "us_per_step", "env 1.50", "-"),
    ]
    assert tables.suite_table([{"env": "B-v0"}]) is None


def test_cores_that_are_used_are_counted():
    with Use(gpu=False) as use:
        begin = time.process_time()
        while time.process_time() - begin < 0.2:
            pass
    assert 0 < use.cpu_share <= 1.5
    assert use.gpu_share is None
    with Use(gpu=False) as sleeps:
        time.sleep(0.2)
    assert sleeps.cpu_share < 0.5
    spins = "import time\nwhile time.process_time() < 0.5: pass"
    with Use(gpu=False) as child:
        subprocess.run([sys.executable, "-c", spins], check=True)
    cores = learning.count_cores()
    assert child.cpu_share * cores * 60 > 0.5  # of a process that has ended


def test_a_gpu_is_asked_for_its_utilisation(tmp_path, monkeypatch):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 40\necho '[N/A]'\necho 60\nexec sleep 60\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with Use(gpu=True) as use:
        stop = time.monotonic() + 30
        while len(use._told) < 2 and time.monotonic() < stop:
            time.sleep(0.01)
    assert use.gpu_share == pytest.approx(0.5)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with Use(gpu=True) as without:
        pass
    assert without.gpu_share is None


def test_repeats_end_where_their_time_is_over(monkeypatch):
    """On a slow machine each configuration has a repeat, and no more than there is time for."""
    now = [0.0]

    def measure(flags, steps, played, seconds):
        now[0] += 10.0
        return {
            **dict.fromkeys(("steps_per_s", "reward_per_hour", "reward_per_million"), 1.0),
            **{"noisy": False, "ran": {"net_arch": [1]}, "seconds_to_goal": None},
        }

    monkeypatch.setattr(configs, "measure", measure)
    monkeypatch.setattr(configs, "env_only", lambda *_: 1.0)
    monkeypatch.setattr(configs, "name_of", lambda _: "")
    monkeypatch.setattr(configs.time, "perf_counter", lambda: now[0])

    def repeats(until):
        now[0] = 0.0
        return configs.row("fast", Flags(), 1, 5, 0, until=until)["repeats"]

    assert [repeats(until) for until in (-5, 5, 20, 35, 1000)] == [1, 1, 2, 3, 5]
    args = benchmark_v9.parser().parse_args(["--only", "configs", "--game", "skullking", "--short"])
    args.config = [name for name in configs.CONFIGS if name != "hierarchical"]
    now[0] = 0.0
    rows = configs.measure_chosen(runner.BenchmarkOptions(args, Console(), 1.0))
    assert now[0] <= runner.SHORT_S
    assert all(row["repeats"] >= 1 for row in rows)
    assert configs.find_end(benchmark_v9.parser().parse_args([]), 1) == math.inf


@pytest.mark.slow
def test_what_was_measured_stays_where_it_is_stopped(tmp_path):
    out = tmp_path / "rows.jsonl"
    given = ["--only", "configs", "--game", "skullking", "--games", "0", "--steps", "64"]
    given += ["--set", "n_envs=4", "--set", "n_steps=16", "--set", "batch=32"]
    command = [sys.executable, "-m", "training", "benchmark", *given, "--repeats", "50"]
    with subprocess.Popen(
        [*command, "--out", str(out)], cwd=machine.ROOT, stdout=-3, stderr=-3
    ) as measures:
        stop = time.monotonic() + 300
        while not out.exists() or out.read_text().count("\n") < 4:
            assert time.monotonic() < stop
            time.sleep(0.1)
        measures.send_signal(signal.SIGKILL)
    head, *rows = map(json.loads, out.read_text().splitlines())
    assert head["kind"] == "head"
    assert [(row["kind"], row["config"], row["repeat"]) for row in rows][:3] == [
        ("repeat", "baseline", k) for k in (1, 2, 3)
    ]
    assert all(row["cpu_share"] > 0 and row["reward_per_hour"] is not None for row in rows)


class Pays(gymnasium.Env):
    """Pays 1 for each step, and is cut off after two."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, False, self.steps == 2, {}


def test_rewards_are_those_of_the_environment_where_episodes_are_cut_off():
    """SB3 adds the value of what follows to the rewards that it learns from."""
    vec = TrainerVecEnv(DummyVecEnv([Pays, Pays]))
    model = PPO("MlpPolicy", vec, n_steps=8, batch_size=16, n_epochs=1, device="cpu")
    with torch.no_grad():
        model.policy.value_net.bias.fill_(100)
    watch = Stopwatch(model, vec)
    for _ in range(3):
        watch.iterate()
    assert watch.curve().rewards == [1, 1, 1]
    assert watch.curve().steps == [0, 16, 32]
