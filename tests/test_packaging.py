"""What is built and shipped, above all on a machine without a C compiler."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import fastenv
from tests.needs import needs_compiler, needs_core
from tools import wheels

ROOT = Path(__file__).resolve().parents[1]
MAKES_THE_ENVIRONMENT = ("setup.py", "pyproject.toml", "requirements-dev.txt")
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
    """A copy of the sources without anything built, so that building leaves the checkout alone.

    What is C already is copied too, or every build here would first take seconds to translate it.
    """
    copy = tmp_path_factory.mktemp("sources")
    built = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
    for folder in ("fastenv", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=built)
    if (ROOT / "build" / "cython").exists():
        shutil.copytree(ROOT / "build" / "cython", copy / "build" / "cython")
    for name in (*MAKES_THE_ENVIRONMENT, "README.md", "LICENSE", "Makefile"):
        shutil.copy2(ROOT / name, copy)
    (copy / "tools").mkdir()
    for name in ("__init__.py", "install.py"):
        shutil.copy2(ROOT / "tools" / name, copy / "tools")
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_without_compiler_auto_says_it_took_numba(installed, tmp_path):
    script = """
import fastenv
print(fastenv.make("SkullKingWorker-v0").backend)
print(fastenv.make_vec("SkullKingWorker-v0", 2, backend="auto").backend)
"""
    assert run_installed(installed, tmp_path, script) == ["numba", "numba"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cython", "fast"])
def test_without_compiler_asking_for_cython_says_what_to_install(installed, tmp_path, name):
    script = f"""
import fastenv
try:
    fastenv.make("SkullKingWorker-v0", backend={name!r})
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


@pytest.fixture
def checkout(sources):
    """The copy as ``make`` finds it when its environment is installed, and built in: this one."""
    python = sources / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    then = max((sources / name).stat().st_mtime_ns for name in MAKES_THE_ENVIRONMENT)
    for path in (sources / ".venv" / "installed", sources / "build" / "extension"):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        os.utime(path, ns=(then, then))
    return sources


def make_build(checkout, **env):
    """Run ``make build`` with the given environment."""
    return subprocess.run(
        ["make", "build"],
        cwd=checkout,
        env=os.environ | env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_goes_on_without_a_compiler_and_tries_again(checkout):
    old = checkout / "fastenv" / "skullking" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    old.touch()  # of older sources, when there was a compiler
    old.with_name("_core.pyx").touch()
    for _ in range(2):
        built = make_build(checkout, **NO_COMPILER)
        assert built.returncode == 0, built.stderr
        assert built.stderr.count("the compiled extensions were not built") == 1
        assert not old.exists()


@needs_compiler
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_make_fails_where_a_compiler_refuses_our_code(checkout):
    code = {path: path.read_text() for path in checkout.rglob("*.[ch]")}
    try:
        for path, text in code.items():
            before = path.stat()
            path.write_text(f'{text}\n#include "nowhere.h"\n')  # whatever else is right
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # no reason to translate
        built = make_build(checkout)
    finally:
        for path, text in code.items():
            path.write_text(text)
    assert built.returncode != 0
    assert "nowhere.h" in built.stderr
    assert "were not built" not in built.stderr


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = [Path(name) for name in zipfile.ZipFile(wheel).namelist()]
    shipped = {name for name in names if name.parts[0] == "fastenv"}
    metadata = {name for name in names if name.parts[0].endswith(".dist-info")}
    assert shipped | metadata == set(names)
    roms = {name for name in shipped if name.is_relative_to("fastenv/gameboy/roms")}
    assert {name.suffix for name in roms} == {".asm", ".gb", ".json"}
    data = {name for name in shipped if name.is_relative_to("fastenv/gameboy/data")}
    assert {name.suffix for name in data} == {".npz", ".npy", ".json", ".jsonl"}
    assert {name.suffix for name in shipped - roms - data} == {
        *(".py", ".pyi", ".pxd", ".h", ".typed", ".npz", ".template")
    }
    templates = {*(ROOT / "fastenv" / "templates").rglob("*.template")}
    assert templates
    assert {ROOT / name for name in shipped if name.suffix == ".template"} == templates
    wanted = {"py.typed", "_rng.pxd", "_batch.pxd", "_batch.pyi", "drmario/seed_registry.npz"}
    wanted |= {f"{game}/_core.pyi" for game in ("skullking", "prospector", "drmario", "gameboy")}
    wanted |= {f"gameboy/roms/lantern_walk.{suffix}" for suffix in ("asm", "gb", "json")}
    assert {Path("fastenv", name) for name in wanted} <= shipped


@pytest.mark.slow
def test_wheel_has_a_bill_of_materials(wheel):
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [name for name in opened.namelist() if ".dist-info/sboms/" in name]
        bill = json.loads(opened.read(name))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    own = bill["metadata"]["component"]
    assert (own["name"], own["version"]) == ("fastenv-rl", fastenv.__version__)
    assert [part["name"] for part in bill["components"]] == ["cython"]


def test_the_page_says_what_each_extra_is_for_and_that_training_is_not_installed():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    page = (ROOT / "docs" / "howto" / "install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `\.\[(\w+)\]` \|", page, re.MULTILINE)) == set(extras)
    assert "`training/` is used from the checkout" in page


def test_sdist_holds_what_its_tests_and_pages_use():
    manifest = (ROOT / "MANIFEST.in").read_text()
    grafted = re.findall(r"^graft (\S+)$", manifest, re.MULTILINE)
    used = ("training", "tests", "tools", "notebooks", "docs", "pretrained", "benchmarks")
    used += (".ci", ".github")
    for folder in used:
        assert folder in grafted
        assert (ROOT / folder).is_dir()
    templates = [*(ROOT / "training").rglob("*.html"), *(ROOT / "training").rglob("*.js")]
    excluded, _, behind = manifest.partition("\nglobal-exclude ")[2].partition("\n")
    again = re.findall(r"^recursive-include (\S+) (\S+)$", behind, re.MULTILINE)
    assert templates
    for path in templates:
        left_out = any(path.match(pattern) for pattern in excluded.split())
        assert not left_out or any(
            path.is_relative_to(ROOT / folder) and path.match(pattern) for folder, pattern in again
        )


def test_sdist_holds_every_page_of_the_root():
    included = " ".join(re.findall(r"^include (.+)$", (ROOT / "MANIFEST.in").read_text(), re.M))
    pages = {path.name for path in ROOT.glob("*.md")} | {"LICENSE", "CITATION.cff"}
    assert pages <= set(included.split())


def test_files_for_the_host_of_the_repository_can_be_read():
    forms = [*(ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml")]
    flows = [*(ROOT / ".github" / "workflows").glob("*.yml")]
    assert len(forms) == 4
    assert len(flows) == 3
    for path in (*forms, *flows, ROOT / ".github" / "dependabot.yml"):
        assert isinstance(yaml.safe_load(path.read_text("utf-8")), dict)
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == fastenv.__version__


def test_workflows_run_commands_that_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        text = path.read_text("utf-8")
        assert set(re.findall(r"run: make ([\w-]+)", text)) <= targets
        for name in re.findall(r"--ignore=(\S+)", text):
            assert (ROOT / name).exists()
        for action in re.findall(r"uses: (\S+)", text):
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1|[0-9a-f]{40})", action)


@needs_core
def test_core_is_built_as_asked():
    """Both stale-build traps are silent: a debug run on a release build would prove nothing."""
    from fastenv import _batch

    debug = os.environ.get("FASTENV_DEBUG") == "1"
    assert Path(_batch.__file__).is_relative_to(ROOT)
    assert _batch.is_debug() == debug
    assert _batch._debug_probe(3) == 13
    if debug:
        with pytest.raises(IndexError):
            _batch._debug_probe(1 << 20)
    for name in {fastenv.make_game(env_id).spec.core_module for env_id in fastenv.list_envs()}:
        assert Path(importlib.import_module(name).__file__).is_relative_to(ROOT)


def files_of_the_project():
    """Yield every source and build file except this one, which has to name what it forbids."""
    for folder in ("fastenv", "training", "tests", "tools"):
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


@needs_compiler
def test_a_declaration_that_changes_is_noticed(tmp_path):
    """Also in what cimports the module from a package, which Cython overlooks."""
    shutil.copy(ROOT / "setup.py", tmp_path)
    declared = tmp_path / "fastenv" / "_shared.pxd"
    for folder in (declared.parent, declared.parent / "game"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    source = "from fastenv cimport _shared\nVALUE = _shared.number()\n"
    (declared.parent / "game" / "_core.pyx").write_text(source)
    found = []
    for number in ("1", "2"):
        text = f"cdef inline int number() noexcept:\n    return {number}\n"
        declared.write_text(text, encoding="utf-8")
        later = time.time() + 10  # than what is built below: time stamps may have few digits
        os.utime(declared, (later, later))
        run("setup.py", "-q", "build_ext", "--inplace", cwd=tmp_path)
        script = "from fastenv.game._core import VALUE; print(VALUE)"
        found.append(run("-c", script, cwd=tmp_path).stdout.strip())
    assert found == ["1", "2"]


def test_python_of_a_wheel_is_read_from_its_name():
    assert wheels.python_of(Path("fastenv_rl-0.1.0-cp312-cp312-linux_x86_64.whl")) == "3.12"
    with pytest.raises(ValueError, match="one version of CPython"):
        wheels.python_of(Path("fastenv_rl-0.1.0-py3-none-any.whl"))
