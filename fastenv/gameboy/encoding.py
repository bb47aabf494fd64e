"""Observation, mask, reward and info in plain Python: what the kernels must reproduce.

Everything is a function of an environment as it is after a step (docs/gameboy.md, 17 to 20). Sums
run in double in the order of the terms and are rounded to single precision once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastenv.gameboy.environment import TERMINATED, Environment
from fastenv.gameboy.frames import gray, unpack
from fastenv.gameboy.layout import audio_shape, pixels_shape
from fastenv.gameboy.observed import ACTIONS, FLAGS, NUMBERS, PIXELS, VISITED, Observed, Part

Array = npt.NDArray[Any]


def encode_obs(env: Environment, out: Array) -> None:
    """Write an observation: frames, and in an overworld senses and events; or what it names."""
    if env.common.observed is not None:
        write_observed(env, env.common.observed, out)
        return
    if env.common.ram_map is None:
        out[...] = pixels(env)
        return
    out["pixels"], out["senses"], out["events"] = pixels(env), senses(env), env.events()


def write_observed(env: Environment, observed: Observed, out: Array) -> None:
    """Write what ``observe`` names."""
    if observed.pixels:
        out[PIXELS] = pixels(env)
    for name, flag in ((NUMBERS, False), (FLAGS, True)):
        found = [x for part in observed.parts if part.flag == flag for x in shown(env, part)]
        if found:
            out[name] = found
    if observed.actions:
        one_hot = np.zeros((observed.actions, len(env.config.chords)), np.uint8)
        for k, action in enumerate(env.recent):
            if action:
                one_hot[k, action - 1] = 1
        out[ACTIONS] = one_hot.reshape(-1)
    if any(observed.visited):
        out[VISITED] = visited(env, *observed.visited)


def shown(env: Environment, part: Part) -> list[float]:
    """Return numbers from 0 to 1 by their range, or bits as they are."""
    program = env.common.program
    assert program is not None
    if part.field < 0:
        numbers = env.values[part.first : part.first + part.count]
    else:
        field = program.fields[part.field]
        numbers = [field.number(env.read, part.first + k) for k in range(part.count)]
    if part.flag:
        return [*map(float, numbers)]
    return [min(1.0, max(0.0, (float(number) - part.low) / part.span)) for number in numbers]


def visited(env: Environment, rows: int, columns: int) -> list[list[int]]:
    """Return which cells around that of now were visited in this episode."""
    place = [env.place(name) for name in ("map", "x", "y", "stage")]
    number, x, y, stage = place
    left, top = x - (columns - 1) // 2, y - (rows - 1) // 2
    return [
        [int(env.was_visited([number, left + k, top + i, stage])) for k in range(columns)]
        for i in range(rows)
    ]


def pixels(env: Environment) -> Array:
    """Return the frames, the newest last."""
    config = env.config
    numbers = list(b"".join(env.stack))
    if not config.format.packed:
        numbers = unpack(bytes(numbers))
        if config.pixel_mode == "gray":
            numbers = [gray(shade) for shade in numbers]
    return np.array(numbers, np.uint8).reshape(pixels_shape(config))


def senses(env: Environment) -> list[float]:
    """Return where the hero is and the last reward, each from 0 to 1."""
    assert env.common.ram_map is not None
    maps, rows, columns = env.common.ram_map.size
    found = [
        min(1.0, env.place(name) / max(1, size - 1))
        for name, size in (("map", maps), ("x", columns), ("y", rows))
    ]
    return [*found, min(1.0, max(0.0, total(terms(env))))]


def action_mask(env: Environment, out: npt.NDArray[np.uint8]) -> None:
    """Write which actions do something."""
    out[:] = [env.config.is_allowed(action) for action in range(len(out))]


def terms(env: Environment) -> tuple[float, ...]:
    """Return the terms of the reward of the last step."""
    config, program = env.config, env.common.program
    more: tuple[float, ...] = ()
    if program is not None:
        paid = zip(program.weights, env.values[: len(program.weights)], strict=True)
        more = tuple(w * float(x) for w, x in paid)
    if config.kind == "goal":
        before, now = (x / env.distance_unit for x in (env.ev_distance, env.distance))
        reached = config.goal_bonus if env.done == TERMINATED else 0.0
        return config.step_cost, config.alpha * (before - now), reached
    if config.kind == "overworld":
        return (
            config.cell_bonus * env.ev_cells,
            config.item_bonus * env.ev_items,
            config.dialogue_bonus * env.ev_dialogue,
            config.event_bonus * env.ev_events,
            config.finish_bonus if env.done == TERMINATED and env.place("done") else 0.0,
            *more,
        )
    return more


def reward(env: Environment) -> tuple[float, tuple[float, ...]]:
    """Return the reward of the last step and its terms."""
    parts = terms(env)
    return total(parts), parts


def total(parts: tuple[float, ...]) -> float:
    """Return the sum, term by term: ``sum`` of newer Pythons corrects what rounding loses."""
    added = 0.0
    for part in parts:
        added += part
    return added


def info(env: Environment) -> tuple[Any, ...]:
    """Return the columns of the state."""
    shared = env.machine.cpu.locked, env.start
    program = env.common.program
    columns: tuple[Any, ...] = ()
    if program is not None:
        columns = program.columns(env.read, env.values, env.remembered)
    columns += () if env.config.wait_until is None else (env.waited,)
    columns += audio(env)
    if env.config.kind == "goal":
        return *shared, env.ep_length, env.distance / env.distance_unit, env.near, *columns
    if env.config.kind == "overworld":
        names = ("map", "x", "y", "facing", "dialogue", "items", "steps")
        ram_map, events = env.common.ram_map, env.events()
        assert ram_map is not None
        fired = sum(events[bit] for bit in ram_map.rewarded)
        return *shared, *map(env.place, names), fired, env.cells, *columns
    return *shared, *columns


def audio(env: Environment) -> tuple[Any, ...]:
    """Return the column with the samples of the step, if there is one."""
    if not env.config.audio:
        return ()
    return (np.array(env.samples, np.int16).reshape(audio_shape(env.config)),)
