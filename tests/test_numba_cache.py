"""A first compilation is told of once, on stderr, and nothing else is."""

import errno
import importlib.util
import itertools
import multiprocessing
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba")

import numba
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile

from fastenv import notices, numba_cache, ticker
from fastenv.numba_cache import compile_clock, compile_notice
from tests.processes import run_python
from tests.slow import diagonal

ROOT = Path(__file__).resolve().parents[1]
KERNELS = """
from fastenv.numba_cache import cached_cfunc, cached_njit

@cached_cfunc("int64(int64)")
def one(x):
    return x + 1

@cached_cfunc("int64(int64)", nogil=True)
def two(x):
    return x + 2

@cached_njit(nogil=True)
def three(x):
    return x + 3
"""
LINE = "fastenv: compiling the kernels of Some-v0 with Numba, some seconds, once: they are cached\n"


@pytest.fixture(autouse=True)
def notices_are_printed(monkeypatch):
    """Tests of training silence them for a whole process."""
    monkeypatch.setattr(numba_cache, "print_notice", notices.print_notice)
    monkeypatch.setattr(ticker, "FIRST_S", 1e6)  # of dots that come with it


@pytest.fixture
def compile_kernels(tmp_path, monkeypatch):
    """Return a function that imports kernels, which compiles them or finds them in their cache."""
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)

    def compile_kernels():
        spec = importlib.util.spec_from_file_location("kernels", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "kernels", module)  # what is cached names its module
        spec.loader.exec_module(module)
        assert (module.one.ctypes(1), module.two.ctypes(1), module.three(1)) == (2, 3, 4)

    return compile_kernels


def test_a_first_compilation_is_one_line_and_a_cached_one_none(compile_kernels, capsys):
    for expected in (LINE, ""):
        with compile_notice("Some-v0"):
            compile_kernels()
        assert capsys.readouterr() == ("", expected)


def test_compiling_is_heard_of_until_it_is_done(compile_kernels, capsys, monkeypatch):
    monkeypatch.setattr(ticker, "FIRST_S", 0.0)
    monkeypatch.setattr(ticker, "EVERY_S", 0.001)
    with compile_notice("Some-v0"):
        compile_kernels()
    dots = capsys.readouterr().err.removeprefix(LINE)
    assert set(dots.replace("compiling ", "")) == {".", "\n"}
    with compile_notice("Some-v0"):
        compile_kernels()
    assert capsys.readouterr().err == ""


def test_processes_of_multiprocessing_are_silent(compile_kernels, capsys, monkeypatch):
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "somebody")
    with compile_notice("Some-v0"):
        compile_kernels()
    assert capsys.readouterr() == ("", "")


def test_what_is_compiled_elsewhere_is_not_told_of(compile_kernels, capsys):
    with compile_notice("Some-v0"):
        pass
    compile_kernels()
    assert capsys.readouterr() == ("", "")


def test_a_damaged_cache_is_written_again(compile_kernels, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    compile_kernels()
    for ending, content in itertools.product(("nbi", "nbc"), (b"", b"\x80", b"damaged")):
        damaged = [*(tmp_path / "cache").rglob(f"*.{ending}")]
        assert len(damaged) == 3
        for file in damaged:
            file.write_bytes(content)
        for expected in (LINE, ""):
            with compile_notice("Some-v0"):
                compile_kernels()
            assert capsys.readouterr() == ("", expected), (ending, content)


LAYOUT = """
import numpy as np
ROW = np.dtype([("{}", "i4"), ("{}", "i4")])
"""
READER = """
from numba import types
from fastenv.numba_cache import cached_cfunc
from fastenv.pointers import reader
from rows.layout import ROW
read = reader(ROW)

@cached_cfunc(types.int64(types.CPointer(types.uint8)))
def lives(row):
    return read(row, 0).lives
"""
RUN = """
import numpy as np
from rows.kernels import ROW, lives
row = np.zeros(1, ROW)
row["lives"], row["score"] = 3, 1000
print(lives.ctypes(row.view(np.uint8).ctypes.data_as(lives.ctypes.argtypes[0])), lives.cache_hits)
"""


def test_a_field_that_moves_in_another_file_is_read_where_it_is(tmp_path):
    """Code of the old layout would read other fields, and write behind what it was given."""
    package = tmp_path / "rows"
    package.mkdir()
    (package / "kernels.py").write_text(READER)
    for names, hits in ((("lives", "score"), 0), (("score", "lives"), 0), (("score", "lives"), 1)):
        (package / "layout.py").write_text(LAYOUT.format(*names))
        # Without -B, Python itself would take files of one second and one size to be the same.
        done = run_python("-B", "-c", RUN, cwd=tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
        assert done.stdout.split() == ["3", str(hits)]


def nowhere(monkeypatch):
    monkeypatch.setattr(CompileResultCacheImpl, "_locator_classes", [])
    return "(RuntimeError: cannot"


def no_room(monkeypatch):
    def save(self, key, data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", save)
    return "(OSError: No space left on device)"


@pytest.mark.parametrize(("door", "cause"), diagonal(["cfunc", "njit"], [nowhere, no_room]))
def test_where_nothing_can_be_cached_one_line_says_so(
    compile_kernels, capsys, monkeypatch, cause, door
):
    monkeypatch.setattr(numba_cache, "_reported_no_cache", False)
    if door == "njit":
        monkeypatch.setattr(numba_cache, "cached_cfunc", numba.cfunc)
    why = cause(monkeypatch)
    for times in (1, 0):
        with compile_notice("Some-v0"):
            compile_kernels()
        out, err = capsys.readouterr()
        told = err.replace(LINE, "").splitlines()  # a full disk is met after compiling
        phrase = f"in every process, because its cache cannot be used {why}"
        assert (out, [phrase in line for line in told]) == ("", [True] * times)


def test_every_cache_is_had_at_one_door():
    written = [path for folder in ("fastenv", "training") for path in (ROOT / folder).rglob("*.py")]
    direct = [
        path.relative_to(ROOT).as_posix()
        for path in written
        if re.search(r"cache\W{1,4}True|FunctionCache\(|enable_caching", path.read_text())
    ]
    assert direct == ["fastenv/numba_cache.py"]


@pytest.mark.slow
def test_kernels_of_training_run_where_nothing_can_be_cached():
    code = """
from numba.core.caching import CompileResultCacheImpl, IndexDataCacheFile
CompileResultCacheImpl._locator_classes = []
import importlib, pathlib
import numpy as np
for path in sorted(pathlib.Path("training").rglob("*.py")):
    if "cached_njit" in path.read_text():
        name = ".".join(path.with_suffix("").parts)
        importlib.import_module(name)
        print(name)
from training.nets.distribution import draw_rows
action, logp = np.empty(1, np.int64), np.empty(1, np.float32)
mask = np.array([[False, True]])
draw_rows(np.zeros((1, 2), np.float32), mask, np.zeros(1, np.float32), action, logp)
print(action[0], logp[0])
"""
    done = run_python("-c", code)
    *names, result = done.stdout.splitlines()
    assert result == "1 0.0"
    assert len(names) > 10
    assert done.stderr.count("cannot be used") == 1


def test_what_cannot_be_compiled_is_no_matter_of_the_cache(capsys):
    with pytest.raises(numba.errors.NumbaError):
        numba_cache.cached_cfunc("int64(int64)")(lambda x: nothing)  # noqa: F821
    assert capsys.readouterr() == ("", "")


def test_the_clock_of_the_compiler_runs_while_it_compiles() -> None:
    with compile_clock() as seconds:
        assert seconds() == 0
        assert numba.njit(lambda x: x + 1)(1) == 2
        spent = seconds()
    assert spent > 0
    assert seconds() == spent
