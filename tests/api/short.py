"""Environments of the suites over every id, and options with which episodes are short.

Suites wait for the ends of episodes.
"""

import fastenv
from fastenv.registry import make_seated

PLANES = {"obs": "bitplane_bottle", "stack": 1}  # in plain Python the default takes milliseconds
FULL = {"level": 24, "speed": "high"}  # viruses up to the row below the neck
OPTIONS = {
    "Prospector-v0": {"time_max": 300.0},
    "DrMarioFrame-v0": FULL | PLANES | {"intro_frames": 1},
    "DrMarioPlacement-v0": FULL,
    "DrMarioVersus-v0": FULL,
    "DrMarioVersusFrame-v0": FULL | PLANES | {"intro_frames": 1},
    # white is 255: PettingZoo's suite warns of observations that are all zeros
    "GameBoyLink-v0": {"frame_skip": 1, "max_steps": 4, "pixel_mode": "gray"},
}


def short(env_id):
    """Return options of an environment with which its episodes are short."""
    return OPTIONS.get(env_id.rpartition("/")[2], {})


def is_for_several(env_id):
    """Return whether several players meet in the game of an id."""
    try:
        game, _ = make_seated(env_id, None, {"seats": "all"})
    except fastenv.ConfigError:
        return False
    return game.seats is not None


# All but those of the Game Boy, whose reference takes a second a step: test_gameboy.py.
OTHERS = ("fastenv/GameBoy", "fastenv/LanternWalk")
IDS = [name for name in fastenv.list_envs() if not name.startswith(OTHERS)]
SEVERAL = [name for name in fastenv.list_envs() if is_for_several(name)]
