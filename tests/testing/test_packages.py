"""Faults of released packages that are found without a hint, in an environment of their own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PINNED = ["envpool==1.2.5", "gymnasium==1.4.0", "numba"]
CASES = """
import envpool
from fastenv.testing import compare


def pendulum():
    return envpool.make_gymnasium("Pendulum-v1", num_envs=3, seed=3)


def blackjack():
    return envpool.make_gymnasium("Blackjack-v1", num_envs=3, seed=3)


def cart_pole(max_episode_steps=500):
    limit = max_episode_steps
    return envpool.make_gymnasium("CartPole-v1", num_envs=3, seed=3, max_episode_steps=limit)


if __name__ == "__main__":
    for fast, reference in ((pendulum, "Pendulum-v1"), (blackjack, "Blackjack-v1")):
        report = compare(fast, reference, sync=reference, rtol=1e-4, seconds=10)
        print(reference, [finding.where for finding in report.findings if finding.case])
    report = compare(cart_pole, "CartPole-v1", sync="CartPole", rtol=1e-4, seconds=5)
    print("CartPole-v1", [each.where for each in report.findings if each.kind == "difference"])
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """An interpreter that has the packages; skipped where they do not install."""
    folder = tmp_path_factory.mktemp("packages")
    venv.create(folder, with_pip=True)
    found = folder / "bin" / "python"
    done = subprocess.run(
        [found, "-m", "pip", "install", "--quiet", *PINNED], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"the packages do not install here: {done.stderr.splitlines()[-1:]}")
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="EnvPool has wheels for Linux")
def test_envpool_moves_the_pendulum_by_a_speed_that_is_not_clipped(python, tmp_path):
    (tmp_path / "cases.py").write_text(CASES)
    done = subprocess.run(
        [python, "-W", "ignore", "cases.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert "observation[" in said["Pendulum-v1"], done.stderr
    assert "outcome" in said["Blackjack-v1"]  # a hand has no usable ace beyond 21
    assert "terminated of lane" in said["CartPole-v1"]  # a pole that falls at the limit
