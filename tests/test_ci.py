"""``.ci/run`` and ``.ci/core-changed``, with a ``make`` that only says what it was asked for."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAKE = """#!/usr/bin/env bash
echo "begun $*" >>begun
case "$1" in
    "${FAILS:-none}") echo "what $1 found"; exit 3 ;;
    "${HANGS:-none}") sleep 600 & echo "$!" >child; wait ;;
    test) echo "7 passed in 0.10s" ;;
esac
"""
# The script looks once a second whether a stage has ended.
SLEEP = f"""#!/usr/bin/env bash
[ "$1" = 1 ] && set -- 0.05
exec {shutil.which("sleep")} "$1"
"""
pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.fixture
def checkout(tmp_path):
    """A repository of two commits, of which the last one does not touch the core."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    (tmp_path / "bin").mkdir()
    for name, text in (("make", MAKE), ("sleep", SLEEP)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    commit(tmp_path, "fastenv/core.py")
    commit(tmp_path, "page.md")
    return tmp_path


def git(folder, *words):
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def commit(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(f"{time.monotonic()}")
    git(folder, "init")
    git(folder, "add", name)
    git(folder, "commit", "-m", name)


def start(folder, *words, **env):
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", ".ci/run", *words]
    given = {"PATH": path, "CORES": "2", **env}
    return subprocess.Popen(
        command, cwd=folder, env=os.environ | given, stdout=subprocess.PIPE, text=True
    )


def run(folder, *words, **env):
    process = start(folder, *words, **env)
    said, _ = process.communicate(timeout=120)
    begun = (folder / "begun").read_text().replace("begun ", "").splitlines()
    return process.returncode, said, begun


def test_every_stage_runs_and_the_readmes_command_closes_the_log(checkout):
    status, said, begun = run(checkout)
    assert status == 0
    assert begun[0] == "build kernels .venv/lint-installed"
    assert sorted(begun[1:]) == sorted(["lint", "docs", "rllib-test", "slow-test", "test"])
    assert said.splitlines()[-1] == "7 passed in 0.10s"
    command = re.search(r"^(make test)\b", (ROOT / "README.md").read_text("utf-8"), re.M)[1]
    assert f"-- {command} begins" in said


def test_the_first_failure_is_shown_at_the_end_and_the_rest_runs(checkout):
    status, said, begun = run(checkout, FAILS="lint")
    assert status == 1
    assert "test" in begun
    end = said.partition("all stages")[2]
    assert "make lint failed first" in end
    assert "what lint found" in end
    assert said.splitlines()[-1] == "7 passed in 0.10s"


def test_what_is_stopped_takes_its_children_along(checkout):
    process = start(checkout, HANGS="docs")
    child = checkout / "child"
    while not (child.exists() and child.read_text().strip()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 130
    for _ in range(100):
        try:
            os.kill(int(child.read_text()), 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the child of a stage lives on")


def test_the_checked_build_runs_where_the_core_changed_and_before_a_release(checkout):
    asked = ["bash", ".ci/core-changed"]

    def is_asked(**env):
        done = subprocess.run(asked, cwd=checkout, env=os.environ | env, capture_output=True)
        return done.returncode == 0

    assert not is_asked()
    assert is_asked(BASE="0" * 40), "no such commit"
    (checkout / "fastenv" / "core.py").write_text("other")
    assert is_asked()
    git(checkout, "checkout", "fastenv/core.py")
    git(checkout, "checkout", "-b", "branch")
    commit(checkout, "fastenv/core.py")
    commit(checkout, "page.md")
    assert is_asked(), "the branch has changed it"
    git(checkout, "checkout", "main")
    assert not is_asked()
    # The stages of two cores; those of one end in any order beside them.
    wide = {"debug-test", "slow-test ALL=1", "test"}
    begun = [name for name in run(checkout, "--release")[2] if name in wide]
    assert begun == ["debug-test", "slow-test ALL=1", "test"]
    git(checkout, "tag", "v1")
    assert is_asked()
