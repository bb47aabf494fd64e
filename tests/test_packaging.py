"""What is built and shipped, above all on a machine without a C compiler."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NO_COMPILER = {"CC": shutil.which("false"), "CXX": shutil.which("false")}


def run(*command, cwd, **env):
    """Run a command with exactly the given build switches; return it finished, output captured."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FASTENV_")}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd,
        env=inherited | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources without anything built, so that building leaves the checkout alone."""
    copy = tmp_path_factory.mktemp("sources")
    built = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for folder in ("fastenv", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=built)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    return copy


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    """A wheel built without a compiler."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ("--no-build-isolation", "--no-deps", "--no-index")
    built = run(
        *("-m", "pip", "wheel", *offline, "--wheel-dir", folder, sources), cwd=folder, **NO_COMPILER
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with that wheel installed, and nothing else."""
    site = tmp_path_factory.mktemp("site")
    done = run(
        *("-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel), cwd=site
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return site


def run_installed(installed, tmp_path, script):
    """Run a script against the installed wheel, away from the checkout."""
    done = run("-W", "error", "-c", script, cwd=tmp_path, PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def test_without_compiler_numba_backend_plays(installed, tmp_path):
    script = """
import fastenv, numpy as np
env = fastenv.make("SkullKingWorker-v0", use_numba=True, use_cython=False)
rng = np.random.default_rng(0)
env.reset(seed=0)
for _ in range(50):
    action = rng.choice(np.flatnonzero(env.action_masks()))
    obs, reward, terminated, truncated, info = env.step(int(action))
    if terminated or truncated:
        env.reset()
print(fastenv.__file__)
"""
    (imported,) = run_installed(installed, tmp_path, script)
    assert Path(imported).is_relative_to(installed)


def test_without_compiler_auto_says_it_took_numba(installed, tmp_path):
    script = """
import fastenv
print(fastenv.make("SkullKingWorker-v0").backend)
print(fastenv.make_vec("SkullKingWorker-v0", 2, backend="auto").backend)
"""
    assert run_installed(installed, tmp_path, script) == ["numba", "numba"]


@pytest.mark.parametrize("backend", ["cython", "fast"])
def test_without_compiler_asking_for_cython_says_what_to_install(installed, tmp_path, backend):
    script = f"""
import fastenv
try:
    fastenv.make("SkullKingWorker-v0", backend={backend!r})
except fastenv.BackendUnavailableError as error:
    print(error)
"""
    message = " ".join(run_installed(installed, tmp_path, script))
    assert "compiler" in message
    assert "install" in message


def test_missing_compiler_is_explained_once(sources):
    built = run("setup.py", "-q", "build_ext", "--inplace", cwd=sources, **NO_COMPILER)
    assert built.returncode == 0, built.stderr
    assert built.stderr.count("the compiled extensions were not built") == 1
    assert "numba" in built.stderr
    assert "gcc" in built.stderr


def test_missing_compiler_is_an_error_where_the_extension_is_required(sources):
    required = NO_COMPILER | {"FASTENV_REQUIRE_EXTENSION": "1"}
    built = run("setup.py", "-q", "build_ext", "--inplace", cwd=sources, **required)
    assert built.returncode != 0
    assert built.stderr.count("the compiled extensions were not built") == 1


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = [Path(name) for name in zipfile.ZipFile(wheel).namelist()]
    shipped = {name for name in names if name.parts[0] == "fastenv"}
    metadata = {name for name in names if name.parts[0].endswith(".dist-info")}
    assert shipped | metadata == set(names)
    assert {name.suffix for name in shipped} == {".py", ".pyi", ".pxd", ".h", ".typed"}
    for wanted in ("fastenv/py.typed", "fastenv/_rng.pxd", "fastenv/skullking/_core.pyi"):
        assert Path(wanted) in shipped


def test_sdist_holds_what_its_tests_and_pages_use():
    grafted = re.findall(r"^graft (\S+)$", (ROOT / "MANIFEST.in").read_text(), re.MULTILINE)
    for folder in ("training", "tests", "notebooks", "docs", "pretrained", "benchmarks", ".ci"):
        assert folder in grafted
        assert (ROOT / folder).is_dir()


def test_core_is_built_as_asked():
    """Both stale-build traps are silent: a debug run on a release build would prove nothing."""
    from fastenv.skullking import _core as core

    debug = os.environ.get("FASTENV_DEBUG") == "1"
    assert Path(core.__file__).is_relative_to(ROOT)
    assert core.is_debug() == debug
    if debug:
        with pytest.raises(IndexError):
            core._debug_probe(1 << 20)


def files_of_the_project():
    """Yield every source and build file except this one, which has to name what it forbids."""
    for folder in ("fastenv", "training", "tests"):
        for suffix in ("py", "pyx", "pxd", "pyi", "pxi"):
            yield from (ROOT / folder).rglob(f"*.{suffix}")
    yield from (ROOT / name for name in ("setup.py", "pyproject.toml", "Makefile"))


@pytest.mark.parametrize(
    "forbidden",
    [
        # These change results: sums are reordered, products fused, denormals flushed.
        r"fast-?math|-Ofast|-funsafe-math",
        # It would tie the build to one NumPy; typed memoryviews need none.
        r"^\s*(cimport\s+numpy|from\s+numpy\s+cimport)",
    ],
)
def test_no_source_uses(forbidden):
    pattern = re.compile(forbidden, re.MULTILINE)
    paths = [path for path in files_of_the_project() if path != Path(__file__).resolve()]
    assert [str(p) for p in paths if p.exists() and pattern.search(p.read_text("utf-8"))] == []
