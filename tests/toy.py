"""A tiny game that has nothing to do with cards: it keeps the house independent of any game.

Walk to a goal while the wind blows: 0 waits, 1 steps, 2 jumps two fields (illegal on odd fields).
Its "kernels" and its "core" are plain Python over rows, so that all four backends can be composed.
"""

from typing import Any

import numpy as np

from fastenv.errors import ConfigError, StateError
from fastenv.game import Game
from fastenv.rng import Rng

STATE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("ep_return", "f8"),
        ("ep_length", "i4"),
        ("position", "i4"),
        ("goal", "i4"),
        ("steps", "i4"),
        ("limit", "i4"),
        ("moved", "i4"),
        ("illegal", "i4"),
        ("done", "i1"),
    ],
    align=True,
)
KNOBS = np.dtype([("limit", "i4")])


class Walk:
    """One running game."""

    def __init__(self) -> None:
        self.rng = Rng(0)
        self.clear(12)

    def clear(self, limit: int) -> None:
        self.ep_return, self.ep_length, self.done = 0.0, 0, 0
        self.position = self.goal = self.steps = self.moved = self.illegal = 0
        self.limit = limit

    def legal(self) -> list[int]:
        return [0, 1] if self.position % 2 else [0, 1, 2]

    def step(self, action: int) -> None:
        self.steps += 1
        self.moved = 0
        if action not in self.legal():
            self.illegal += 1
        else:
            before = self.position
            wind = self.rng.bounded(4) == 0
            self.position = max(0, self.position + action - wind)
            self.moved = self.position - before
        if self.position >= self.goal:
            self.done = 1
        elif self.steps >= self.limit or self.illegal >= 3:
            self.done = 2


class WalkGame(Game):
    num_actions = 3
    obs_shape = (3,)
    state_dtype = STATE
    knobs_dtype = KNOBS
    info_columns = ("position", "goal")
    float_columns = ("distance", "twice")
    kernel_module = core_module = "fastenv.rng"
    render_modes = ("ansi", "rgb_array")

    def __init__(self, raise_illegal: bool = False, any_integer: bool = False) -> None:
        self.raise_illegal, self.any_integer = raise_illegal, any_integer

    def create(self) -> Walk:
        return Walk()

    def reset(self, game: Walk, knobs: Any, seed: int | None) -> None:
        if seed is not None:
            game.rng = Rng(seed)
        game.clear(int(knobs["limit"]))
        game.goal = 1 + game.rng.bounded(6)

    def step(self, game: Walk, action: int) -> None:
        game.step(action)

    def pack(self, game: Walk, row: Any) -> None:
        for name in STATE.names:
            row[name] = game.rng.state if name == "rng" else getattr(game, name)

    def unpack(self, row: Any) -> Walk:
        game = Walk()
        for name in STATE.names:
            setattr(game, name, row[name].tolist())
        game.rng, state = Rng(0), game.rng
        game.rng.state = state
        return game

    def encode_obs(self, game: Walk, out: Any) -> None:
        out[:] = game.position / 10, game.goal / 10, game.steps / 20

    def action_mask(self, game: Walk, out: Any) -> None:
        out[:] = [a in game.legal() for a in range(3)]

    def reward(self, game: Walk, columns: Any) -> float:
        reward = float(np.float32(0.3 * game.moved - 0.1))
        columns[:] = game.goal - game.position, 2 * reward
        game.ep_return += reward
        game.ep_length += 1
        return reward

    def info(self, game: Walk, out: Any) -> None:
        out[:] = game.position, game.goal

    def kernels(self) -> "WalkKernels":
        return WalkKernels(self)

    def core(self, states: Any, knobs: Any, num_threads: int) -> "WalkCore":
        return WalkCore(self, states.view(STATE).reshape(-1), knobs.view(KNOBS).reshape(-1))

    def default_knobs(self, n: int) -> Any:
        return np.full(n, 12, np.int32).view(KNOBS)

    def set_knob(self, knobs: Any, name: str, value: Any) -> None:
        if name != "limit" or value < 1:
            raise ConfigError(f"{name}={value!r}")
        knobs[name] = value

    def get_knob(self, knobs: Any, name: str) -> Any:
        if name != "limit":
            raise AttributeError(name)
        return int(knobs[name])

    def validate(self, rows: Any) -> None:
        for name in ("position", "goal", "steps"):
            wrong = (rows[name] < 0) | (rows[name] > 1000)
            if wrong.any():
                raise StateError(f"lane {wrong.argmax()}: {name}")

    def describe(self, row: Any) -> str:
        return "ODD" if row["position"] % 2 else "EVEN"

    def render(self, row: Any, mode: str) -> Any:
        if mode == "ansi":
            return f"{row['position']} of {row['goal']}"
        return np.full((4, 6, 3), row["position"], np.uint8)

    def bot_kind(self, name: str) -> int:
        return ("walker", "random").index(name)

    def bot_action(self, game: Walk, kind: int, rng_state: Any) -> int:
        if kind == 0:
            return 1
        rng = Rng(0)
        rng.state = rng_state.tolist()
        action = game.legal()[rng.bounded(len(game.legal()))]
        rng_state[:] = rng.state
        return action


class WalkKernels:
    """What Numba kernels do, in Python over rows."""

    def __init__(self, game: WalkGame) -> None:
        self.game = game

    def each(self, rows: Any, select: Any) -> Any:
        for i in np.flatnonzero(select):
            yield i, self.game.unpack(rows[i])

    def observe_many(self, rows: Any, select: Any, obs: Any, mask: Any) -> None:
        for i, game in self.each(rows, select):
            self.game.encode_obs(game, obs[i])
            self.game.action_mask(game, mask[i])

    def reward_many(self, rows: Any, select: Any, reward: Any, columns: Any) -> None:
        for i, game in self.each(rows, select):
            reward[i] = self.game.reward(game, columns[i])
            self.game.pack(game, rows[i])

    def info_many(self, rows: Any, select: Any, info: Any) -> None:
        for i, game in self.each(rows, select):
            self.game.info(game, info[i])

    def addresses(self) -> Any:
        return (self,)


class WalkCore:
    """What a Cython core does, in Python over rows."""

    def __init__(self, game: WalkGame, states: Any, knobs: Any) -> None:
        self.game, self.states, self.knobs = game, states, knobs

    def reset(self, select: Any, seeds: Any) -> None:
        for i in np.flatnonzero(select):
            game = self.game.unpack(self.states[i])
            self.game.reset(game, self.knobs[i], None if seeds is None else int(seeds[i]))
            self.game.pack(game, self.states[i])

    def step(self, actions: Any, select: Any) -> None:
        for i in np.flatnonzero(select):
            game = self.game.unpack(self.states[i])
            game.step(int(actions[i]))
            self.game.pack(game, self.states[i])

    def first_illegal(self, actions: Any, select: Any) -> int:
        for i in np.flatnonzero(select):
            if actions[i] not in self.game.unpack(self.states[i]).legal():
                return int(i)
        return -1

    def bot_actions(self, kind: int, rng_states: Any, out: Any) -> None:
        for i in range(len(out)):
            game = self.game.unpack(self.states[i])
            out[i] = self.game.bot_action(game, kind, rng_states[i])

    def bind(self, addresses: Any, *buffers: Any) -> None:
        self.kernels = addresses[0]
        names = "reward columns terminated truncated info final_info final_obs ep_return ep_length"
        self.out = dict(
            zip([*names.split(), "info_wanted", "columns_wanted"], buffers, strict=True)
        )

    def step_fused(self, actions: Any, select: Any, autoreset: bool, obs: Any, mask: Any) -> None:
        out, one = self.out, np.zeros_like(select)
        for i in range(len(select)):
            for name in ("reward", "columns", "terminated", "truncated"):
                out[name][i] = 0
            if not select[i]:
                continue
            one[:] = 0
            one[i] = 1
            self.step(actions, one)
            full = np.zeros((len(select), 2), np.float32)
            self.kernels.reward_many(self.states, one, out["reward"], full)
            out["columns"][i] = full[i, out["columns_wanted"]]
            done = self.states["done"][i]
            out["terminated"][i], out["truncated"][i] = done == 1, done == 2
            if done:
                self.kernels.observe_many(self.states, one, out["final_obs"], mask)
                self.info(one, out["final_info"])
                for name in ("ep_return", "ep_length"):
                    out[name][i] = self.states[name][i]
                if autoreset:
                    self.reset(one, None)
            self.observe(one, obs, mask)

    def observe(self, select: Any, obs: Any, mask: Any) -> None:
        self.kernels.observe_many(self.states, select, obs, mask)
        self.info(select, self.out["info"])

    def info(self, select: Any, info: Any) -> None:
        full = np.zeros((len(select), 2), np.int32)
        self.kernels.info_many(self.states, select, full)
        chosen = select != 0
        info[chosen] = full[chosen][:, self.out["info_wanted"]]
