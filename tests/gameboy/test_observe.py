"""What ``observe`` shows, and episodes that play on: four backends, copies, and by hand."""

import json

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, StateError
from fastenv.gameboy import make_game
from fastenv.gameboy.observed import MAX_FIELDS_MIB
from fastenv.gameboy.state import MAX_ACTIONS
from tests.gameboy.lanes import ENGINES
from tests.gameboy.test_lanes import all_agree
from tests.needs import FASTEST, needs_core
from tests.tables import walk

ONE = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
MAP = {
    "fields": {
        "column": {"address": "$C101", "type": "u1", "range": [2, 12]},
        "walked": {"address": "$C107", "type": "<u2"},
        "signed": {"address": "$C200", "type": "i1", "count": 3},
        "quest": {"address": "$C11C", "type": "bit", "count": 3, "names": {"flame": 1}},
    },
    "sets": {"cells": {"key": ["column", "walked"], "capacity": 9}},
    "numbers": {
        "far": {"value": "max_so_far(walked) - 3 * size(cells)", "range": [-5, 1000]},
        "plain": "walked + 1",
    },
    "rewards": {"far": "delta(far)"},
    "memory": {"map": "$C100", "x": "$C101", "y": "$C102"},
    "events": {"address": "$C11C", "bits": 3},
    "size": [3, 16, 16],
}
NAMES = ["column", "signed", "quest", "walked", "signed[1]", "flame", "actions[3]", "far"]


@pytest.fixture
def ram_map(tmp_path):
    path = tmp_path / "map.json"
    path.write_text(json.dumps(MAP), encoding="utf-8")
    return path


def engines_of(n, backends, **options):
    game = make_game(**options)
    engines = [BatchEngine(game, n, backend) for backend in backends]
    for engine in engines:
        engine.reset_many(seeds=5)
    return engines


CASES = [
    {"observe": ["pixels", *NAMES], "pixels": "84x84", "pixel_mode": "gray"},
    {"observe": NAMES},
    {"observe": ["actions"], "actions": "multi_binary", "max_pool": True, "frames_per_step": 2},
    {"observe": ["visited", "flame"], "kind": "overworld", "visits": "cells"},
    {"observe": ["visited[5x4]", "pixels"], "kind": "overworld", "visits": 64,
     "pixels": "packed72x20"},
]  # fmt: skip


@walk("options", CASES, ids=lambda options: options["observe"][0])
def test_backends_show_the_same(options, ram_map, backends):
    options = {**ONE, "states": "lantern_walk", "start_state": None, "ram_map": ram_map, **options}
    engines = engines_of(2, backends, **options, max_steps=3, sticky=0.25, play_on=True)
    rng = np.random.default_rng(1)
    for step in range(4):  # the last one is behind the end of an episode
        actions = rng.integers(0, engines[0].num_actions, 2)
        for engine in engines:
            engine.step_many(actions)
        all_agree(engines)
        if step == 1:  # what the memory holds by chance
            rows = engines[0].get_states()
            rows["wram"][:, 0x100:0x300] = rng.integers(0, 256, (2, 0x200))
            for engine in engines:
                engine.set_states(rows)
            all_agree(engines)


def test_actions_lie_behind_any_number_of_bytes(tmp_path, backends):
    """As those of visits are odd, so is the place of the actions: sanitizers see how it is used."""
    path = tmp_path / "map.json"
    places = {"memory": {"map": "$C000", "x": "$C001", "y": "$C002"}, "size": [1, 1, 1]}
    path.write_text(json.dumps({**places, "numbers": {"n": "1"}}), encoding="utf-8")
    options = {"kind": "overworld", "visits": "cells", "observe": ["actions[3]"], "ram_map": path}
    engines = engines_of(1, backends, **ONE, **options)
    assert engines[0].get_states().dtype.fields["recent"][1] % 2 == 1
    for action in (3, 1, 2, 5):
        for engine in engines:
            engine.step_many([action])
        all_agree(engines)
    assert engines[0].obs["actions"].reshape(3, -1).argmax(axis=1).tolist() == [1, 2, 5]


def test_numbers_are_shown_by_their_ranges(ram_map):
    (engine,) = engines_of(1, [FASTEST], ram_map=ram_map, observe=["pixels", *NAMES], **ONE)
    dtype = engine.obs_dtype
    assert dtype.names == ("pixels", "numbers", "flags", "actions")
    assert dtype["numbers"].shape == (7,)
    assert dtype["flags"].shape == (4,)
    assert dtype["actions"].shape == (3 * 8,)
    row = engine.get_states()
    for at, content in (
        (0x101, [7]),
        (0x107, [0xFF, 0x7F]),
        (0x200, [0x80, 0, 0x7F]),
        (0x11C, [6]),
    ):
        row["wram"][0, at : at + len(content)] = content
    engine.set_states(row)
    obs = engine.obs[0]
    wanted = [0.5, 0.0, 128 / 255, 1.0, 0x7FFF / 0xFFFF, 128 / 255]
    assert obs["numbers"].tolist()[:6] == np.array(wanted, np.float32).tolist()
    assert obs["flags"].tolist() == [0, 1, 1, 1]
    for value, share in ((0, 0.0), (2, 0.0), (12, 1.0), (200, 1.0)):  # outside of its range
        row["wram"][0, 0x101] = value
        engine.set_states(row)
        assert engine.obs[0]["numbers"][0] == share


@needs_core
def test_actions_are_the_last_ones_that_were_asked_for(ram_map):
    engine = BatchEngine(make_game(observe=["actions[3]"], sticky=0.9, **ONE), 1, FASTEST)
    engine.reset_many(seeds=0)
    asked = []
    assert not engine.obs["actions"].any()
    for action in (3, 0, 7, 7, 1):
        engine.step_many([action])
        asked = [*asked, action][-3:]
        shown = engine.obs["actions"].reshape(3, 8)
        assert shown[: 3 - len(asked)].sum() == 0
        assert [int(each.argmax()) for each in shown[3 - len(asked) :]] == asked
        assert shown.sum() == len(asked)
    engine.reset_many(seeds=0)
    assert not engine.obs["actions"].any()


@needs_core
@pytest.mark.parametrize("visits", ["cells", 65_536])
def test_visited_cells_are_those_that_were_visited(visits):
    options = {"states": "lantern_walk", "observe": ["visited[9x10]"], "visits": visits}
    env = fastenv.make("GameBoyOverworld-v0", **options, backend=FASTEST)
    obs, info = env.reset(seed=0)
    names = env.game.config.action_names
    seen, rng = {(int(info["map"]), int(info["x"]), int(info["y"]))}, np.random.default_rng(2)
    for _ in range(60):
        obs, *_, info = env.step(names.index(rng.choice(["up", "down", "left", "right"])))
        place = tuple(int(info[name]) for name in ("map", "x", "y"))
        seen.add(place)
        number, x, y = place
        wanted = [[(number, x - 4 + k, y - 4 + i) in seen for k in range(10)] for i in range(9)]
        assert obs["visited"].tolist() == np.array(wanted, int).tolist()
    assert len(seen) > 5


@needs_core
def test_nothing_is_drawn_that_is_not_shown(ram_map):
    """And what the machine does is the same."""
    options = {"states": "lantern_walk", "ram_map": ram_map, "stack_k": 1}
    shown, hidden = (
        BatchEngine(make_game(observe=observe, **options), 2, FASTEST)
        for observe in (["pixels", "column"], ["column"])
    )
    for engine in (shown, hidden):
        engine.reset_many(seeds=0)
    first = hidden.get_states()["stack"].copy()
    for action in range(8):
        for engine in (shown, hidden):
            engine.step_many([action, 7 - action])
        ours, theirs = shown.get_states(), hidden.get_states()
        for name in ours.dtype.names:
            if name != "stack":
                assert np.array_equal(ours[name], theirs[name]), name
        assert np.array_equal(theirs["stack"], first)
        assert np.array_equal(shown.obs["numbers"], hidden.obs["numbers"])


def test_an_observation_is_a_dict_for_gymnasium(ram_map):
    from gymnasium.utils.env_checker import check_env

    env = fastenv.make(
        "GameBoyPixels-v0",
        ram_map=ram_map,
        observe=["column", "flame", "pixels"],
        max_steps=4,
        **ONE,
    )
    assert {name: space.shape for name, space in env.observation_space.items()} == {
        "pixels": (1, 72, 80),
        "numbers": (1,),
        "flags": (1,),
    }
    check_env(env.unwrapped, skip_render_check=True)


@walk(
    ("given", "says"),
    [
        ({"observe": "pixels"}, "observe='pixels' is not possible: observe must be a list"),
        ({"observe": []}, "names of what is shown"), ({"observe": ["pixels"] * 2}, "each once"),
        ({"observe": [5]}, "a list of names of what is shown"),
        ({"observe": ["colum"]}, "Did you mean 'column'"),
        ({"observe": ["score"]}, "observe: 'score' .* of the map: far, plain, column, walked"),
        ({"observe": ["signed[3]"]}, "elements, signed.0. to signed.2."),
        ({"observe": ["column[0]"]}, "must be 'column', a single number"),
        ({"observe": ["actions[0]"]}, "with whole numbers from 1 to 64"),
        ({"observe": ["actions[2x2]"]}, "observe: 'actions.2x2.'"),
        ({"observe": ["actions", "actions[3]"]}, "observe: 'actions.3.' .* can be shown once"),
        ({"observe": ["visited", "visited[3x3]"], "kind": "overworld"}, "visited can be shown onc"),
        ({"observe": ["plain"]}, "a number with a range: numbers.plain of the map has none"),
        ({"observe": ["far[0]"]}, "must be 'far', a single number"),
        ({"observe": ["visited"]}, "only an overworld remembers visits"),
        ({"observe": ["visited[65x2]"], "kind": "overworld"}, "with whole numbers from 1 to 64"),
        ({"observe": ["signed[1x2]"]}, "it must be pixels, actions"), ({"observe": [""]}, "''"),
        ({"observe": ["pixels"], "kind": "goal", "ram_map": None}, "a goal is a picture"),
        ({"play_on": 2}, "play_on=2"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_by_name(given, says, ram_map):
    with pytest.raises(ConfigError, match=says) as error:
        make_game(**{"ram_map": ram_map, **given})
    assert "\n" not in str(error.value)


def test_fields_above_the_limit_are_refused_in_mib(tmp_path):
    table = {"address": "$0000", "type": "u1", "count": 1 << 15}
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"fields": dict.fromkeys("abc", table)}), encoding="utf-8")
    game = make_game(ram_map=path, observe=["a", "b"])
    assert game.common.observed.fields_bytes == MAX_FIELDS_MIB * 2**20
    with pytest.raises(ConfigError, match=r"fields would take 0\.38 MiB of .* at most 0\.25 are"):
        make_game(ram_map=path, observe=["a", "b", "c"])


def test_rows_from_outside_are_checked():
    engine = BatchEngine(make_game(observe=["actions[2]"], **ONE), 1, "reference")
    engine.reset_many(seeds=0)
    row = engine.get_states()
    row["recent"][0, 1] = 9
    with pytest.raises(StateError, match="recent"):
        engine.set_states(row)
    assert MAX_ACTIONS < 2**16 - 1


# -- episodes that play on (docs/gameboy.md, 18) ---------------------------------------------------


@walk("backend", [*ENGINES])
def test_what_was_cut_off_goes_on(backend):
    options = {"states": "lantern_walk", "start_state": None, "max_steps": 2, **ONE}
    name, threads = ENGINES[backend]
    engine = BatchEngine(make_game(play_on=True, **options), 2, name, num_threads=threads)
    engine.reset_many(seeds=3)
    engine.step_many([4, 7], autoreset=False)
    engine.step_many([4, 7], autoreset=False)
    assert engine.truncated.all()
    before = engine.get_states()
    engine.reset_many(mask=np.array([True, True]))
    after = engine.get_states()
    for field in before.dtype.names:
        changes = {"done", "ep_return", "ep_length", "last_action"}
        assert (field in changes) or np.array_equal(before[field], after[field]), field
    assert after["ep_length"].tolist() == [0, 0]
    # With a seed, or before its end, an episode begins where it is to begin.
    engine.step_many([4, 7], autoreset=False)
    engine.reset_many(mask=np.array([True, False]))
    assert engine.get_states()["cyc"][0] < after["cyc"][0]
    engine.reset_many(seeds=3)
    begun = BatchEngine(make_game(**options), 2, FASTEST)
    begun.reset_many(seeds=3)
    assert engine.get_states().tobytes() == begun.get_states().tobytes()


@needs_core
def test_what_ended_by_itself_begins_anew(ram_map, tmp_path):
    """Only what was cut off goes on: not what the map ends, nor a locked processor."""
    value = {**MAP, "ends": {"terminated": "quest[0]", "truncated": "quest[2]"}}
    ram_map.write_text(json.dumps(value), encoding="utf-8")
    game = make_game(ram_map=ram_map, states="lantern_walk", play_on=True, **ONE)
    engine = BatchEngine(game, 2, FASTEST)
    engine.reset_many(seeds=0)
    started = engine.get_states()
    rows = started.copy()
    rows["wram"][:, 0x11C] = [1, 4]
    engine.set_states(rows)
    engine.step_many([0, 0], autoreset=False)
    assert engine.terminated.tolist() == [True, False]
    assert engine.truncated.tolist() == [False, True]
    ended = engine.get_states()
    engine.reset_many(mask=np.array([True, True]))
    now = engine.get_states()
    assert now["wram"][0].tobytes() == started["wram"][0].tobytes()
    assert now["wram"][1].tobytes() == ended["wram"][1].tobytes()
