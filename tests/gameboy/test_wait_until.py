"""Steps that last until a condition holds: four backends, and by hand with Parcel."""

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.gameboy import make_game
from tests.gameboy.test_lanes import all_agree
from tests.gameboy.test_pokemon_maps import READ_ON, TO_THE_CLERK, TO_THE_SHOP, parcel, walk_there
from tests.needs import needs_core
from tests.slow import every
from tests.tables import walk

WAIT = {"ram_map": "parcel", "rom": "parcel", "wait_until": "joy_ignore == 0"}


@needs_core
def test_a_step_lasts_until_the_script_is_over():
    """The clerk's script takes 60 frames, and then a text that A ends."""
    env, plain = parcel(wait_until="joy_ignore == 0"), parcel()
    for each in (env, plain):
        each.reset(seed=0)
        *_, (*_, info) = walk_there(each, TO_THE_SHOP + TO_THE_CLERK[:-1])
        assert info["joy_ignore"] == 0
    assert info.get("waited") is None
    *_, before = env.step(0)
    assert before["waited"] == 0
    *_, (obs, _, _, _, info) = walk_there(env, "a")
    assert (info["joy_ignore"], info["font_loaded"], info["got_parcel"]) == (0, 0, 1)
    assert 2 <= info["waited"] <= 4
    plain.step(0)
    *_, (last, _, _, _, there) = walk_there(plain, "a" + "a" * int(info["waited"]))
    assert env.get_state()["cyc"] == plain.get_state()["cyc"]
    assert np.array_equal(obs[-1], last[-1])  # the picture is that of the end
    for name in ("map_x", "got_parcel", "font_loaded"):
        assert there[name] == info[name]


@needs_core
def test_what_never_holds_is_waited_for_so_often():
    env = parcel(wait_until="battle == 7", wait_steps=3, wait_press="noop", max_steps=2)
    _, info = env.reset(seed=0)
    assert info["waited"] == 0
    cycles = [int(env.get_state()["cyc"])]
    for last in (False, True):
        *_, truncated, info = env.step(0)
        cycles.append(int(env.get_state()["cyc"]))
        assert info["waited"] == 3
        assert truncated == last
    frames = np.diff(cycles) / 70_224
    assert np.allclose(frames, 4 * 24, atol=1)


CASES = [
    {"wait_until": "map_x % 3 != 0", "wait_press": "up", "sticky": 0.25},
    {"wait_until": "joy_ignore == 5", "repeat_action_probability": 0.3,
     "max_pool": True, "frames_per_step": 2, "release_after_frames": 1},
    {"wait_until": "party_hp[0] != 0 and count(badges) < 4", "kind": "overworld", "play_on": True,
     "visits": "cells"},
]  # fmt: skip


@walk("options", every(2, CASES))
def test_backends_wait_alike(options, backends):
    one = {"frames_per_step": 1, "release_after_frames": 1, "stack_k": 1}
    game = make_game(**WAIT | one | {"wait_steps": 2, "max_steps": 3} | options)
    engines = [BatchEngine(game, 2, backend) for backend in backends]
    rng = np.random.default_rng(3)
    for engine in engines:
        engine.reset_many(seeds=1)
    waited = set()
    for step in range(3):
        rows = engines[0].get_states()
        rows["wram"][:, 0x1000:0x1900] = rng.integers(0, 256, (2, 0x900))
        rows["wram"][:, 0xD6B] = rng.integers(4, 6, 2)
        for engine in engines:
            engine.set_states(rows)
            engine.step_many([step, 4 + step])
        all_agree(engines)
        waited |= {*engines[0].info["waited"].tolist()}
    assert len(waited) > 1, waited


@walk(
    ("given", "says"),
    [
        ({"wait_until": "joy_ignor == 0"}, "wait_until: column 1 of .*'joy_ignor' is no field"),
        ({"wait_until": "delta(battle)"}, "wait_until"), ({"wait_until": 5}, "wait_until=5"),
        ({"wait_until": "battle", "ram_map": None}, "there is no ram_map"),
        ({"wait_press": "x"}, "wait_press='x'"), ({"wait_steps": 0}, "wait_steps=0"),
        ({"wait_steps": 5000}, "from 1 to 4096"),
        ({"audio": True, "frame_policy": "fixed"}, "left out with audio=True"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_waited_for_is_refused_by_name(given, says):
    with pytest.raises(ConfigError, match=says) as error:
        make_game(**{**WAIT, **given})
    assert "\n" not in str(error.value)


@needs_core
def test_read_on_is_what_a_person_presses():
    """The path of the tests does by hand what a step does that waits."""
    env = parcel()
    env.reset(seed=0)
    *_, (*_, info) = walk_there(env, TO_THE_SHOP + TO_THE_CLERK + READ_ON)
    assert (info["joy_ignore"], info["got_parcel"]) == (0, 1)
    assert fastenv.make("GameBoyPixels-v0", **WAIT).game.config.wait_steps == 64
