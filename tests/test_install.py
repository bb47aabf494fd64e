"""What ``make`` says while it installs and builds, and which torch it takes."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import install
from tools.install import Extensions, Packages, main, measure_disk, watch

ROOT = Path(__file__).resolve().parents[1]


def make_wheel(folder, name, version):
    """Write a wheel with one empty module."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(path, text)


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """Let pip find only what a folder holds, and install it into another; return both."""
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    wheels.mkdir()
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_TARGET": str(site),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(install.sysconfig, "get_path", lambda name: str(site))
    monkeypatch.setattr(install.sys, "prefix", str(site))
    return wheels, site


@pytest.mark.parametrize("build", ["cpu", "cu130", "pypi"])
def test_the_build_of_torch_is_that_of_its_name(tmp_path, build, monkeypatch):
    monkeypatch.setattr(install.sys, "platform", "linux")
    monkeypatch.setattr(install.sys, "prefix", str(tmp_path))
    asked = []
    monkeypatch.setattr(
        install, "watch", lambda command, *_, **__: (asked.append(command) or 0, "")
    )
    listed = tmp_path / "listed.txt"
    listed.write_text("# a comment\ntorch==2.13.0 # and one here\n")
    assert main(["packages", str(listed), "--torch", build]) == 0
    *before, last = asked
    assert last[-2:] == ["--requirement", str(listed)]
    assert [command[-1] for command in before] == [f"torch==2.13.0+{build}"][build == "pypi" :]
    assert all(f"{install.TORCH_INDEX}{build}" in command for command in before)


@pytest.mark.slow
def test_where_a_build_is_missing_that_of_pypi_is_taken(offline, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(install.sys, "platform", "linux")
    wheels, site = offline
    make_wheel(wheels, "torch", "2.13.0")
    make_wheel(wheels, "other", "1.0")
    listed = tmp_path / "listed.txt"
    listed.write_text("torch==2.13.0\nother==1.0\n")
    assert main(["packages", str(listed)]) == 0
    said = capsys.readouterr().out
    assert "Installing 2 packages" in said
    assert "torch==2.13.0+cpu cannot be had here: the build of PyPI is taken" in said
    assert "2 packages in " in said
    assert {path.name for path in site.glob("*.py")} == {"torch.py", "other.py"}
    assert not list(site.rglob("*.pyc"))


@pytest.mark.slow
def test_what_pip_says_is_shown_if_it_fails(offline, tmp_path, capsys):
    listed = tmp_path / "listed.txt"
    listed.write_text("nowhere==1.0\n")
    assert main(["packages", str(listed)]) != 0
    assert "nowhere==1.0" in capsys.readouterr().out


def test_packages_are_named_and_counted(tmp_path):
    reader = Packages(47, tmp_path)
    (tmp_path / "pip-1.dist-info").mkdir()
    reader.read("Collecting numpy==2.4.6 (from -r requirements-dev.txt (line 10))")
    reader.read("  Downloading numpy-2.4.6-cp311.whl (16.6 MB)")
    said = reader.describe()
    assert said == "looking up package 1 of 47 listed: downloading numpy-2.4.6-cp311.whl (16.6 MB)"
    reader.read("Collecting six (from python-dateutil)")
    assert reader.describe() == "looking up package 1 of 47 listed: six"
    reader.read("Installing collected packages: six, numpy")
    assert reader.describe() == "installing package 1 of 2: six"
    (tmp_path / "six-1.dist-info").mkdir()
    assert reader.describe() == "installing package 2 of 2: numpy"


def test_extensions_are_named():
    reader = Extensions()
    reader.read("[3/6] Cythonizing fastenv/gameboy/_core.pyx")
    assert reader.describe() == "translating 3 of 6 to C: fastenv/gameboy/_core.pyx"
    reader.read("building 'fastenv._batch' extension")
    assert reader.describe() == "compiling extension 1: fastenv._batch"


def test_a_command_is_told_of_while_it_runs(capfd, monkeypatch):
    monkeypatch.setattr(install, "FIRST_S", 0.0)
    monkeypatch.setattr(install, "EVERY_S", 0.0)
    told = "print('Collecting x (from -r y)', flush=True); input(); raise SystemExit(3)"
    waits = subprocess.Popen(["sleep", "1"], stdout=subprocess.PIPE)
    monkeypatch.setattr(install.subprocess, "Popen", _with_input(waits.stdout))
    status, last = watch([sys.executable, "-c", told], Packages(1, Path("/nowhere")), errors=False)
    waits.wait()
    waits.stdout.close()
    assert status == 1  # of the EOFError
    assert "EOFError" in last
    assert "looking up package 1 of 1 listed: x" in capfd.readouterr().out


def _with_input(stream):
    popen = subprocess.Popen
    return lambda *args, **given: popen(*args, stdin=stream, **given)


def test_disk_is_measured(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 100_000)
    assert 100_000 <= measure_disk(tmp_path) <= 200_000


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("given", "build"), [([], "cpu"), (["TORCH=cu130"], "cu130")])
def test_make_installs_the_build_of_torch_that_is_asked_for(tmp_path, given, build):
    shutil.copy2(ROOT / "Makefile", tmp_path)
    for name in ("requirements-dev.txt", "pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    (tmp_path / "fastenv").mkdir()
    command = ["make", "--dry-run", "build", *given]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert f"-m tools.install packages requirements-dev.txt --torch {build}" in said
    assert "-m tools.install extensions" in said
    assert "requirements-lint.txt" not in said


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_programs_of_lint_are_installed_for_lint_alone(tmp_path):
    """They take 0.3 GB."""
    shutil.copy2(ROOT / "Makefile", tmp_path)
    for name in ("requirements-dev.txt", "requirements-lint.txt", "pyproject.toml", "setup.py"):
        (tmp_path / name).touch()
    command = ["make", "--dry-run", "lint"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    first, _, then = said.partition("-m tools.install packages requirements-lint.txt")
    assert "-m tools.install packages requirements-dev.txt" in first
    assert "-m ruff check" in then
    programs = {"ruff", "mypy", "cython-lint", "basedpyright"}
    assert all(program in then for program in programs)
    listed = (ROOT / "requirements-lint.txt").read_text("utf-8")
    assert all(f"\n{program}==" in listed for program in programs)
    shared = (ROOT / "requirements-dev.txt").read_text("utf-8")
    assert not any(f"\n{program}==" in shared for program in programs)
