"""Options of every kind and size: what is refused is one sentence, soon, and can be printed."""

import os
import signal
import subprocess
import sys
from dataclasses import fields
from functools import partial
from inspect import signature

import numpy as np
import pytest

import fastenv
from fastenv import checks, verify
from fastenv.drmario.config import DrMarioConfig
from fastenv.engine import BatchEngine
from fastenv.errors import VIEW_OPTIONS, ConfigError, FastEnvError, InvalidActionError
from fastenv.gameboy.config import GameBoyConfig
from fastenv.prospector.config import ProspectorConfig
from fastenv.registry import make_game
from fastenv.skullking.config import SkullKingConfig
from tests.processes import run_python
from tests.tables import walk
from tests.test_files import DEEP, HUGE, VALUES

CONFIGS = {
    "SkullKingFlat-v0": SkullKingConfig,
    "Prospector-v0": ProspectorConfig,
    "DrMarioFrame-v0": DrMarioConfig,
    "DrMarioPlacement-v0": DrMarioConfig,
    "GameBoyOverworld-v0": GameBoyConfig,
    "GameBoyGoal-v0": GameBoyConfig,
}
UGLY = [
    *VALUES, [], [[]], [None], ({},), {}, (), b"", "", "a\0b", "late" * 5000, [1e308] * 10, 1e308,
    float("nan"), 2**64, -(2**63), 1 + 2j, object(), len, slice(3), ..., np.zeros(3), np.array(1),
    np.array("x"), np.array([None, DEEP], object), np.ma.array([1], mask=[1]), np.ones((2, 2)) > 0,
]  # fmt: skip


def refused_in_a_sentence(make):
    try:
        made = make()
    except FastEnvError as error:
        text = str(error)
        text.encode()
        assert "\n" not in text
        assert len(text) < 800, text  # of which many are names of options
    else:
        return made
    return None


@pytest.mark.parametrize("env_id", CONFIGS)
def test_options_of_games(env_id):
    for name in [
        *(field.name for field in fields(CONFIGS[env_id])),
        "preset",
        "unknown",
        "a" * 20_000,
    ]:
        for value in UGLY:
            refused_in_a_sentence(partial(make_game, env_id, **{name: value}))


@walk(
    "name",
    ["env_id", "num_envs", "num_threads", "autoreset_mode", "copy", "agents", "info_columns",
     "backend", "use_numba", "use_cython", "render_mode", "info_mode", "opponent"],
)  # fmt: skip
def test_options_of_views(name):
    for value in UGLY:
        options = {"env_id": "Prospector-v0", "num_envs": 2, "backend": "reference"} | {name: value}
        if name.startswith("use_"):
            del options["backend"]
        made = refused_in_a_sentence(partial(fastenv.make_vec, **options))
        if made is not None:
            made.close()


def configured(env_id, name):
    """Set a knob of an engine."""
    fastenv.make_engine(env_id, 1, backend="reference").configure(name, 0)


WORKER, VERSUS = "SkullKingWorker-v0", "DrMarioVersus-v0"
MISSPELT = {
    "id of make": ("SkullKingWorker-v0", lambda: fastenv.make("SkulKingWorker-v0")),
    "id of make_vec": (
        "SkullKingWorker-v0",
        lambda: fastenv.make_vec("fastenv/skullkingworker", 1),
    ),
    "id of make_engine": ("LanternWalk-v0", lambda: fastenv.make_engine("LanternWalk", 2)),
    "option of a game": ("num_players", lambda: fastenv.make(WORKER, num_player=3)),
    "option of a view": ("num_threads", lambda: fastenv.make_vec(WORKER, 2, num_thread=2)),
    "option of an engine": ("opponent", lambda: fastenv.make_engine(VERSUS, 2, oponent="random")),
    "choice": ("rule_hard", lambda: fastenv.make(WORKER, opponents="rule_hrd")),
    "backend": ("reference", lambda: fastenv.make(WORKER, backend="refrence")),
    "autoreset": ("same_step", lambda: fastenv.make_vec(WORKER, 2, autoreset_mode="same_stp")),
    "render mode": ("rgb_array", lambda: fastenv.make(WORKER, render_mode="rgbarray")),
    "info mode": ("stats", lambda: fastenv.make(WORKER, info_mode="stat")),
    "column": ("total", lambda: fastenv.make(WORKER, info_columns=("totl",))),
    "bot of Skull King": ("rule_hard", lambda: make_game(WORKER).bot("rulehard")),
    "bot of Prospector": ("rich_haul", lambda: make_game("Prospector-v0").bot("richhaul")),
    "bot of Dr. Mario": ("greedy", lambda: make_game(VERSUS).bot("gredy")),
    "knob of Skull King": ("goal_mode", lambda: configured(WORKER, "goalmode")),
    "knob of Dr. Mario": ("level", lambda: configured(VERSUS, "levle")),
    "knob of the Game Boy": ("start_state", lambda: configured("LanternWalk-v0", "startstate")),
}


@walk(("meant", "call"), MISSPELT.values(), ids=MISSPELT)
def test_a_misspelt_name_gets_the_nearest(meant, call):
    with pytest.raises(ConfigError, match=f"[.] Did you mean '{meant}'[?]$"):
        call()


def test_a_name_like_no_other_gets_no_guess():
    for call in (lambda: fastenv.make("Chess-v0"), lambda: fastenv.make(WORKER, zebra=1)):
        with pytest.raises(ConfigError) as caught:
            call()
        assert "Did you mean" not in str(caught.value)


def test_options_of_views_are_known_by_name():
    """They are offered beside those of a game."""
    named = {
        name
        for make in (fastenv.make_vec, fastenv.make_engine)
        for name in signature(make).parameters
    }
    assert {*VIEW_OPTIONS} - {"agent_seat", "seats"} == named - {"env_id", "num_envs", "config"}


@pytest.mark.parametrize("options", [5, [1], range(HUGE), HUGE, DEEP], ids=range(5))
def test_options_of_a_reset_are_a_dict(options):
    vec = fastenv.make_vec("Prospector-v0", 2, backend="reference")
    with pytest.raises(TypeError, match="options must be a dict or None, got "):
        vec.reset(options=options)


@pytest.mark.parametrize("seeds", [range(HUGE), [HUGE], [1, 2, 3]], ids=range(3))
def test_seeds_are_counted_without_end(seeds):
    vec = fastenv.make_vec("Prospector-v0", 2, backend="reference")
    with pytest.raises(ValueError, match="seeds must be an integer or 2 of them"):
        vec.reset(seed=seeds)


def test_seeds_in_arrays_are_kept():
    vec = fastenv.make_vec("Prospector-v0", 2, backend="reference")
    vec.reset(seed=np.array([5, 9]))
    assert vec.np_random_seed == (5, 9)
    vec.reset(seed=np.array(3))
    assert vec.np_random_seed == (3, 4)


def no_memory(*args):
    raise MemoryError


@pytest.mark.parametrize("make", [fastenv.make_vec, fastenv.make_engine])
def test_lanes_without_memory_are_one_sentence(monkeypatch, make):
    monkeypatch.setattr(BatchEngine, "_take_path", no_memory)
    with pytest.raises(
        ConfigError, match=r"^num_envs=3: must be fewer: there is not as much memory"
    ):
        make("Prospector-v0", num_envs=3)
    monkeypatch.undo()
    monkeypatch.setattr(checks, "as_count", no_memory)
    with pytest.raises(ConfigError, match=r"^num_envs=3: must be fewer"):
        make("Prospector-v0", 3)


def test_the_time_of_a_verification_begins_behind_what_is_compiled(monkeypatch):
    clock = [0.0]

    class SlowCase(verify.Case):
        def __init__(self, *args):
            clock[0] += 1000 * (clock[0] == 0)
            super().__init__(*args)

        def advance(self):
            clock[0] += 1
            return super().advance()

    monkeypatch.setattr(verify, "Case", SlowCase)
    monkeypatch.setattr(verify.time, "monotonic", lambda: clock[0])
    tally = verify.verify("Prospector-v0", 10, backends=("reference",), num_envs=1, steps=4)
    assert (tally.cases, tally.steps) == (3, 11)


@pytest.mark.parametrize("module", ["fastenv", "fastenv.gameboy.play"])
def test_an_interrupt_of_a_command_that_starts_shows_nothing(tmp_path, module):
    (tmp_path / "gymnasium.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)")
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    found = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (-signal.SIGINT, b"", b"")


def test_an_interrupt_of_a_command_is_an_exception_again():
    program = (
        "import sys, signal; sys.argv[0] = '-m'; sys.orig_argv = ['python', '-mfastenv']\n"
        "import fastenv.__main__ as command\n"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_DFL)\n"
        "command.main(['play', '--seed', '-1'])\n"
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)\n"
    )
    assert run_python("-c", program).stdout.split() == ["True", "True"]


def test_programs_of_others_keep_their_interrupts(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import fastenv")
    (tmp_path / "mine" / "train.py").write_text(
        "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    path = os.pathsep.join([str(tmp_path), os.getcwd()])
    found = run_python("-m", "mine.train", "-m", "fastenv", PYTHONPATH=path)
    assert found.stdout == "True\n"


@pytest.mark.parametrize("value", [3, ("clock",), (each for each in "ab"), np.array(["clock"])])
def test_columns_beside_no_infos(value):
    with pytest.raises(ConfigError, match="info_mode='none' writes no columns"):
        fastenv.make("Prospector-v0", info_mode="none", info_columns=value)


def test_numbers_of_thousands_of_digits_are_out_of_range():
    env = fastenv.make("SkullKingWorker-v0", backend="reference").unwrapped
    env.reset(seed=0)
    with pytest.raises(InvalidActionError, match=r"is out of range, allowed are 0\.\.10") as caught:
        env.step(HUGE)
    assert len(str(caught.value)) < 200
    words = np.ones((1, 4), np.uint64)
    with pytest.raises(ValueError, match=r"^agent=.*: must be 0..0") as caught:
        env.engine.bot_actions("random", words, agent=HUGE)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("env_id", ["SkullKingWorker-v0", "Prospector-v0"])
def test_what_is_no_name_is_no_knob(env_id):
    engine = fastenv.make_engine(env_id, 2, backend="reference")
    for name in (["goal"], 3, None):
        with pytest.raises(ConfigError, match=r"^knob must be a name, got "):
            engine.configure(name, 1)
        with pytest.raises(ConfigError, match=r"^knob must be a name, got "):
            engine.get_knob(name)


def test_nor_is_it_what_a_view_is_asked_for():
    vec = fastenv.make_vec("SkullKingWorker-v0", 2, backend="reference")
    for name in (["goal"], 3, None, np.array(["goal", "backend"])):
        for call in (vec.call, vec.get_attr):
            with pytest.raises(ConfigError, match=r"^name must be a name, got "):
                call(name)


def test_masks_without_an_action_are_refused():
    for masks in ([[], []], np.zeros((0, 0)), np.zeros((2, 2, 0))):
        with pytest.raises(ValueError, match=r"no legal action|an action or more"):
            fastenv.sample_legal(masks)
