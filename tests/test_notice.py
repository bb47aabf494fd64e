"""A first compilation is told of once, on stderr, and nothing else is."""

import importlib.util
import multiprocessing
import sys

import pytest

pytest.importorskip("numba")

from fastenv.notice import compile_notice

KERNELS = """
from numba import cfunc

@cfunc("int64(int64)", cache=True)
def one(x):
    return x + 1

@cfunc("int64(int64)", cache=True)
def two(x):
    return x + 2
"""
LINE = "fastenv: compiling the kernels of Some-v0 with Numba, some seconds, once: they are cached\n"


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

    return compile_kernels


def test_a_first_compilation_is_one_line_and_a_cached_one_none(compile_kernels, capsys):
    for expected in (LINE, ""):
        with compile_notice("Some-v0"):
            compile_kernels()
        assert capsys.readouterr() == ("", expected)


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
