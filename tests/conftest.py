"""The environment of every test; set before anything that reads it is imported."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import slow

# Nothing that collection makes is garbage, and it makes a lot: looking for it took a quarter of the
# time. ``pytest_collection_finish`` turns it on again.
gc.disable()

# Where nothing keeps bytecode, each worker rewrites every test, and each process that a test starts
# compiles all that it imports: in memory nothing else comes of it, and a checkout has room.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Once, and not by ``log_level``: pytest would set it four times in each phase of each test, and the
# caches of hundreds of loggers are cleared each time.
logging.getLogger().setLevel(logging.INFO)

# A spinning thread pool collapses when something else uses the cores.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile(
    "ci", settings.get_profile("dev"), derandomize=True, database=None, print_blob=True
)
settings.register_profile("deep", settings.get_profile("dev"), max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_report_header() -> list[str]:
    """Say which build is tested: a checkout, a copy and an installed wheel look alike otherwise."""
    drawn = [f"slow cases: one in {slow.SHARE}, by SLOW_SEED={slow.seed()}"] if slow.seed() else []
    try:
        from fastenv import _batch
    except ImportError as error:
        return [f"fastenv core: none ({error}); the tests of compiled code are skipped", *drawn]
    return [f"fastenv core: {_batch.__file__}", *drawn]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the author of a game run what runs over all ids for one of them."""
    parser.addoption("--env", metavar="ID", help="of the tests of every id, only those of this one")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests whose ``backend`` is compiled code, and keep those of ``--env``."""
    from tests.needs import needs_core

    if config.option.env:
        _keep_those_of(config.option.env, config, items)
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        if params.get("backend") in ("cython", "fast"):
            item.add_marker(needs_core)
    _skip_without_gpu(items)
    _draw_slow_cases(config, items)


def _draw_slow_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the slow cases that ``SLOW_SEED`` does not draw; one of each test stays."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("slow"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out: set[pytest.Item] = set()
    for table in tables.values():
        is_wide = len(table) >= slow.WIDE
        cases = {x.nodeid: x for x in table if is_wide or x.get_closest_marker("drawn")}
        if cases and not any(map(slow.is_drawn, cases)):
            del cases[slow.first_of(cases)]
        out |= {item for name, item in cases.items() if not slow.is_drawn(name)}
    if out:
        config.hook.pytest_deselected(items=[item for item in items if item in out])
        items[:] = [item for item in items if item not in out]


def _skip_without_gpu(items: list[pytest.Item]) -> None:
    """Skip the tests of a CUDA device where there is none; torch is imported only for them."""
    wanted = [item for item in items if item.get_closest_marker("gpu")]
    if wanted:
        import torch

        if not torch.cuda.is_available():
            for item in wanted:
                item.add_marker(pytest.mark.skip(reason="no CUDA device"))


def pytest_collection_finish() -> None:
    """Let no garbage collection look again at what stays to the end: modules and all the tests.

    What collection leaves is next to no garbage, so none is looked for before. What is young is
    looked at less often than by default: most of what a test makes goes by itself.
    """
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)
    gc.enable()


def _keep_those_of(env: str, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of an id: those whose parameter ``env_id`` it is."""
    import fastenv

    ids = [each.removeprefix("fastenv/") for each in fastenv.list_envs()]
    wanted = env.removeprefix("fastenv/")
    if wanted not in ids:
        raise pytest.UsageError(f"--env {env}: must be one of {', '.join(ids)}")
    kept, others = [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        its = str(params.get("env_id")).removeprefix("fastenv/")
        (kept if its == wanted else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def pytest_runtest_setup() -> None:
    """Keep torch to one thread: the test processes share the cores already."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="module")
def only_own_garbage() -> Iterator[None]:
    """Let the tests of a module that collect garbage look through none of what is from before."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def no_power_cut() -> Iterator[None]:
    """Leave out what files need to outlive a power cut: a disk takes milliseconds to promise it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Take interrupts, which a shell without job control lets its background commands ignore.

    A program that is started ignoring them keeps to that, so tests that interrupt one would fail.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
