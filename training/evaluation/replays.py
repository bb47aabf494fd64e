"""Episodes as files that can be played again.

Environment, options, seed and actions decide an episode, on every backend to the bit. A file keeps
them beside what they led to, one frame a step, so playing it again proves that nothing has changed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fastenv
from fastenv import BatchEngine
from fastenv.errors import FastEnvError, FileError, show
from fastenv.files import parse_json, read_gzip, show_path
from fastenv.registry import NAMESPACE, short_id
from training.run import files, machine
from training.run.envs import make_engine

SCHEMA_VERSION = 1
MOST = 1 << 27  # bytes that a file expands to
# What a frame's picture of the game holds beside the observation, in games that have all of it.
_RENDERED = (
    *("time_remaining", "credits", "net_profit", "survival", "cargo_utilization_avg"),
    "node_context",
)
# Events of a step: a flag of its info that is set, or a count that has grown.
_SET = {"invalid_action": "invalid_action"}
_GROWN = {"pirate_encounters": "pirate_encounter", "overheat_ticks": "overheat_tick"}
# An index entry is tagged for each threshold that its episode reached.
MILESTONES = {
    "profit": (100.0, 500.0, 1000.0),
    "return": (10.0, 25.0, 50.0),
    "survival": (1.0,),
}


class ReplayError(FastEnvError, RuntimeError):
    """A replay or an index of replays that cannot be used; the message says which file and why."""


@dataclass(frozen=True)
class Replay:
    """A recorded episode.

    Parameters
    ----------
    head : dict
        What decides the frames, and the state before the first: env, options, seed, frames
        (their number), reset_observation, and the fastenv version that recorded it.
    frames : list of dict
        One a step: schema_version, frame_index, t (ticks so far), dt, action, reward, terminated,
        truncated, render_state, events, info.
    """

    head: dict[str, Any]
    frames: list[dict[str, Any]]

    @property
    def actions(self) -> list[int]:
        """The actions, in order."""
        return [frame["action"] for frame in self.frames]

    @property
    def return_total(self) -> float:
        """The sum of the rewards."""
        return float(sum(frame["reward"] for frame in self.frames))

    def to_bytes(self) -> bytes:
        """Return the content of a ``.jsonl.gz`` file: a frame a line, the head in the first."""
        first, *others = self.frames
        lines = (
            json.dumps(x, allow_nan=False) + "\n" for x in ({**first, "replay": self.head}, *others)
        )
        return gzip.compress("".join(lines).encode(), mtime=0)


def record(
    env: str,
    options: Mapping[str, Any],
    seed: int,
    actions: Sequence[int] | np.ndarray,
    backend: str = "auto",
) -> Replay:
    """Play an episode and record it.

    Parameters
    ----------
    env : str
        Environment id.
    options : mapping
        Options of the environment.
    seed : int
        Of the reset.
    actions : sequence of int
        At least one; the episode must not end before the last.
    backend : str
        Makes no difference to what is recorded.

    Raises
    ------
    ReplayError
        If there are actions left when the episode is over, or none at all.
    """
    if len(actions) == 0:
        raise ReplayError("a replay needs at least one action.")
    engine = make_engine(env, 1, options, backend=backend)
    engine.reset_many(seeds=seed)
    head = {
        "env": f"{NAMESPACE}/{short_id(env)}",
        "options": dict(options),
        "seed": int(seed),
        "frames": len(actions),
        "reset_observation": _to_json(engine.obs[0]),
        "fastenv": fastenv.__version__,
    }
    frames: list[dict[str, Any]] = []
    info, ticks = _get_info(engine), 0
    for action in _play_actions(engine, actions):
        before, info = info, _get_info(engine)
        dt = int(info.get("dt", engine.tau[0]))
        ticks += dt
        where = {"frame_index": len(frames), "t": ticks, "dt": dt}
        frames.append(_make_frame(engine, action, before, info, where))
    return Replay(json.loads(json.dumps(head)), frames)


def _play_actions(engine: BatchEngine, actions: Sequence[int] | np.ndarray) -> Iterator[int]:
    """Play actions in the only lane of an engine; yield each after its step."""
    for k, action in enumerate(map(int, actions)):
        if engine.ended[0]:
            raise ReplayError(f"the episode is over after {k} of {len(actions)} actions.")
        engine.step_many([action], autoreset=False)
        yield action


def _make_frame(
    engine: BatchEngine,
    action: int,
    before: Mapping[str, Any],
    info: dict[str, Any],
    where: Mapping[str, int],
) -> dict[str, Any]:
    """Make the line of the file for a step."""
    whole = all(name in info for name in _RENDERED)
    return {
        "schema_version": SCHEMA_VERSION,
        **where,
        "action": action,
        "reward": float(engine.reward[0]),
        "terminated": bool(engine.terminated[0]),
        "truncated": bool(engine.truncated[0]),
        "render_state": {
            "observation": _to_json(engine.obs[0]),
            **{name: info[name] for name in (_RENDERED if whole else info)},
        },
        "events": _list_events(engine, before, info),
        "info": info,
    }


def save(replay: Replay, folder: Path, window_id: int = 0) -> Path:
    """Write ``replay-<window>-<hash>.jsonl.gz`` into a folder, whole or not at all."""
    content = replay.to_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(content).hexdigest()[:8]
    path = folder / f"replay-{window_id:06d}-{digest}.jsonl.gz"
    files.write_bytes(path, content)
    return path


def load(path: Path) -> Replay:
    """Read a replay.

    Raises
    ------
    ReplayError
        If it cannot be read, is damaged, cut off, or of another schema version; names the file.
    """
    try:
        lines = read_gzip(path, MOST).split(b"\n")
        frames = [parse_json(line, show_path(path)) for line in lines if line]
        versions = {frame["schema_version"] for frame in frames}
    except FileError as error:
        raise ReplayError(f"{show_path(path)} is no whole replay: {error}") from error
    except (KeyError, TypeError) as error:
        raise ReplayError(f"{path} is damaged or cut off: it is not a whole replay.") from error
    if versions - {SCHEMA_VERSION}:
        shown = ", ".join(sorted(map(show, versions)))
        raise ReplayError(
            f"{path} is of schema version {shown}; this program reads version {SCHEMA_VERSION}."
        )
    try:
        head = frames[0].pop("replay")
        whole = len(frames) == head["frames"]
        whole &= [frame["frame_index"] for frame in frames] == list(range(len(frames)))
        whole &= all(type(frame["action"]) is int for frame in frames)
        whole &= all(isinstance(frame["reward"], float) for frame in frames)
        whole &= math.isfinite(sum(frame["reward"] for frame in frames))
        whole &= isinstance(head["env"], str) and isinstance(head["options"], dict)
        chosen = {"backend", "num_envs", "num_threads"} & set(head["options"])  # by who plays it
        whole &= not chosen and type(head["seed"]) is int and "reset_observation" in head
        whole &= all(isinstance(frame["events"], list) for frame in frames)
        whole &= all(type(f[n]) is bool for f in frames for n in ("terminated", "truncated"))
        whole &= isinstance(frames[-1]["info"], dict)
    except (IndexError, KeyError, TypeError) as error:
        raise ReplayError(f"{path} is damaged or cut off: it is not a whole replay.") from error
    if not whole:
        raise ReplayError(f"{path} is damaged or cut off: it is not a whole replay.")
    return Replay(head, frames)


def play_again(replay: Replay, backend: str = "auto") -> Replay:
    """Record the same episode again, on some backend."""
    head = replay.head
    return record(head["env"], head["options"], head["seed"], replay.actions, backend)


def render_frames(replay: Replay, mode: str, backend: str = "auto") -> Iterator[tuple[str, Any]]:
    """Play an episode again and draw every state.

    Parameters
    ----------
    replay : Replay
    mode : {"ansi", "rgb_array"}
    backend : str

    Yields
    ------
    caption : str
        Number of the step, its action and reward.
    drawing : str or ndarray of uint8, shape (H, W, 3)

    Raises
    ------
    ReplayError
        If the game cannot be drawn so.
    """
    head, last = replay.head, len(replay.frames)
    engine = make_engine(head["env"], 1, head["options"], backend=backend)
    game = engine.game
    if mode not in game.spec.render_modes:
        raise ReplayError(f"{head['env']} has no drawings of the kind {mode}.")
    engine.reset_many(seeds=head["seed"])
    row = engine.get_states()[0]
    yield f"{head['env']}, seed {head['seed']}: the beginning", game.render(row, mode)
    total = 0.0
    for frame, action in zip(replay.frames, _play_actions(engine, replay.actions), strict=True):
        possible = action in range(game.spec.num_actions)  # it may be one that is always illegal
        named = game.action_name(action, row) if possible else f"action {show(action)}"
        row = engine.get_states()[0]
        total += frame["reward"]
        events = "".join(f", {event}" for event in frame["events"])
        caption = f"step {frame['frame_index'] + 1} of {last}: {named}, reward "
        yield (
            f"{caption}{frame['reward']:.4g}, return {total:.6g}{events}",
            game.render(row, mode),
        )


def first_difference(recorded: Replay, played: Replay) -> str | None:
    """Describe the first difference of two recordings of an episode, or None."""
    start = "reset_observation"
    difference = _find_difference(recorded.head[start], played.head[start], start)
    if difference is not None:
        return difference
    for index, (old, new) in enumerate(zip(recorded.frames, played.frames, strict=True)):
        difference = _find_difference(old, new, f"frame {index}")
        if difference is not None:
            return difference
    return None


def _find_difference(old: Any, new: Any, where: str) -> str | None:
    if isinstance(old, dict) and isinstance(new, dict):
        keys: Iterable[Any] = [*new, *(key for key in old if key not in new)]
        pairs = [(old.get(key), new.get(key), f"{where}, {key}") for key in keys]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(a, b, f"{where}[{k}]") for k, (a, b) in enumerate(zip(old, new, strict=True))]
    else:
        return None if old == new else f"{where}: {old!r} in the file, {new!r} now"
    differences = (_find_difference(*pair) for pair in pairs)
    return next((each for each in differences if each is not None), None)


# -- frames ----------------------------------------------------------------------------------------


def _get_info(engine: BatchEngine) -> dict[str, Any]:
    """Return the info of lane 0 as dicts show it."""
    game = engine.game
    return {name: game.shown(name, column[0].tolist()) for name, column in engine.info.items()}


def _get_own(value: Any) -> Any:
    """Return the value of a column; of one with an entry an agent, that of the first."""
    return value[0] if isinstance(value, list) else value


def _list_events(
    engine: BatchEngine, before: Mapping[str, Any], info: Mapping[str, Any]
) -> list[str]:
    events = [event for name, event in _SET.items() if _get_own(info.get(name))]
    events += [event for name, event in _GROWN.items() if info.get(name, 0) > before.get(name, 0)]
    flags = {"terminated": engine.terminated[0], "truncated": engine.truncated[0]}
    return events + [name for name, flag in flags.items() if flag]


def _to_json(values: Any) -> Any:
    """Convert an observation to JSON values: fields by name, floats as short as their float32."""
    if values.dtype.names is not None:
        return {name: _to_json(values[name]) for name in values.dtype.names}
    flat = np.ravel(values)
    return [float(text) for text in flat.astype(str)] if flat.dtype.kind == "f" else flat.tolist()


# -- the index of a run's replays ------------------------------------------------------------------


def load_index(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of ``replay_index.json`` in a run folder, oldest first.

    Raises
    ------
    ReplayError
        If there is an index, but none that can be used; names the file.
    """
    path = folder / "replay_index.json"
    if not path.exists():
        return []
    try:
        index = files.read_json(path)
        version, entries = index["schema_version"], list(index["replays"])
        totals = [entry["return_total"] for entry in entries]
    except (ValueError, LookupError, TypeError) as error:
        raise ReplayError(f"{path} is damaged: it is not an index of replays.") from error
    if not all(type(total) in (int, float) for total in totals):
        raise ReplayError(f"{path} is damaged: it is not an index of replays.")
    if version != SCHEMA_VERSION:
        raise ReplayError(
            f"{path} is of schema version {show(version)}; this program reads version "
            f"{SCHEMA_VERSION}."
        )
    return entries


def add_to_index(folder: Path, path: Path, replay: Replay, **about: Any) -> dict[str, Any]:
    """Append a replay to the index of a run folder and return its entry.

    Parameters
    ----------
    folder : Path
        The run folder.
    path : Path
        Where the replay lies in it.
    replay : Replay
    **about
        run_id, window_id, checkpoint_path, trainer_backend, checkpoint_env_steps_total.
    """
    entries = load_index(folder)
    last = replay.frames[-1]
    total, info = replay.return_total, last["info"]
    reached = {
        "profit": info.get("net_profit"),
        "return": total,
        "survival": info.get("survival"),
    }
    tags = ["every_window"]
    if all(total > entry["return_total"] for entry in entries):
        tags.append("best_so_far")
    for name, thresholds in MILESTONES.items():
        value = reached[name]
        if isinstance(value, int | float):
            tags += [f"milestone:{name}:{limit:g}" for limit in thresholds if value >= limit]
    entry = {
        **about,
        "replay_id": path.name.removesuffix(".jsonl.gz"),
        "replay_path": str(path.relative_to(folder)),
        "tags": tags,
        "return_total": total,
        "steps": len(replay.frames),
        "profit": reached["profit"],
        "survival": reached["survival"],
        "terminated": last["terminated"],
        "truncated": last["truncated"],
        "created_at": machine.now(),
    }
    index = {"schema_version": SCHEMA_VERSION, "replays": [*entries, entry]}
    files.write_json(folder / "replay_index.json", index)
    return entry
