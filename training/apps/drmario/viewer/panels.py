"""The panels beside the boards of the viewer, each a list of names and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from fastenv.drmario import tables as t
from fastenv.drmario.layout import PLANES, REWARD_TERMS
from fastenv.drmario.view import FRAME_RATE
from training.apps.drmario.best_times import BestTimes
from training.apps.drmario.viewer.playback import Playback
from training.logs.run_data import RunData
from training.run.jsonl import read_lines
from training.run.rounding import rounded

NOTHING = "n/a"
LENGTHS = ("decisions", "frames")  # of an episode
Rows = list[tuple[str, str]]


@dataclass(frozen=True)
class Training:
    """The training of an agent, as read from its run folder.

    Parameters
    ----------
    run : RunData
    gates : list of dict
        Tests of its curriculum, the oldest first.
    """

    run: RunData
    gates: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunData) -> Training:
        """Read the events of a run."""
        events = read_lines(run.path / "events.jsonl")
        gates = [event for event in events if event.get("event") == "gate"]
        return cls(run, [gate for gate in gates if _is_test(gate)])

    def rows(self) -> Rows:
        """Return stage, losses, entropy and KL as the training left them."""
        rows: Rows = []
        if self.gates:
            last = self.gates[-1]
            played = last["successes"] + last["failures"]
            rate = f"{rounded(last['successes'] / max(played, 1), 0, 100)}% of {played}"
            rows += [
                ("stage", str(last["stage"])),
                ("stage rate", f"{rate}, low {rounded(last['interval'][0], 0, 100)}%"),
            ]
        for name in ("loss", "policy_loss", "value_loss", "entropy", "kl"):
            rows.append((name.replace("_", " "), number(self.run.last(f"train/{name}"), 4)))
        return rows


def _is_test(gate: Mapping[str, Any]) -> bool:
    """Tell whether an event says how a test of the curriculum ended."""
    counts = all(type(gate.get(name)) is int for name in ("successes", "failures"))
    interval = gate.get("interval")
    if not isinstance(interval, list) or not interval or "stage" not in gate:
        return False
    return counts and all(type(x) in (int, float) for x in interval)


def number(value: float | None, digits: int = 2) -> str:
    """Format a number; an unknown one is ``n/a``."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return f"{value:,.{digits}f}"


def table(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names and values in two columns."""
    shown = Table.grid(padding=(0, 1))
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(name, Text(value))
    return shown


def line(rows: Sequence[tuple[str, str]]) -> Text:
    """Return names and values one behind the other."""
    return Text("   ").join(Text.assemble((f"{name} ", "dim"), value) for name, value in rows)


# -- performance -----------------------------------------------------------------------------------


def performance(playback: Playback, lane: int | None, names: bool) -> Rows:
    """List the speed of play, and what an environment shows.

    Parameters
    ----------
    playback : Playback
    lane : int or None
        The environment that is shown; None for all.
    names : bool
        Whether to list the planes of an observation.
    """
    speed = "maximum" if playback.maximum else f"{playback.speed:.3g}x"
    target = "none" if playback.maximum else f"{FRAME_RATE * playback.speed:,.1f} Hz"
    rows = [
        ("paused", "yes" if playback.paused else "no"),
        ("speed", speed),
        ("target", target),
        *_list_rates(playback),
        *_break_down_time(playback),
    ]
    return [*rows, *_list_shown(playback, lane or 0, names)]


def _list_rates(playback: Playback) -> Rows:
    rates, taken = playback.rates, playback.taken
    total = None if rates is None else rates.frames / rates.at
    step = None if rates is None or rates.env <= 0 else rates.longest / rates.env
    each = None if total is None else total / playback.num_envs
    tau = NOTHING if taken is None else f"{int(taken.max()):,} / {int(taken.sum()):,}"
    rows = playback.engine.get_states()
    spawns = int(rows["players"]["locks"].sum())
    return [
        ("fps of a step", number(step, 0)),
        ("fps in all", number(total, 0)),
        ("fps each", number(each, 0)),
        ("tau max / sum", tau),
        ("spawns", f"{spawns:,}"),
    ]


def _break_down_time(playback: Playback) -> Rows:
    """Break down the time of a frame; the planner is timed apart, once a window."""
    rates = playback.rates
    if rates is None or rates.frames == 0:
        return [("us a frame", NOTHING)]
    planner = None
    if playback.planner is not None:
        planner = min(playback.planner * rates.decisions, rates.env)
    parts = {
        "env": rates.env - (planner or 0.0),
        "planner": planner,
        "inference": rates.inference,
        "update": None,  # of a network: nothing learns here
        "rest": rates.at - rates.env - rates.inference,
    }
    scale = 1e6 / rates.frames
    shown = [
        (f"  {name}", number(None if part is None else max(part, 0.0) * scale))
        for name, part in parts.items()
    ]
    return [("us a frame", number(rates.at * scale, 0)), *shown]


def _list_shown(playback: Playback, lane: int, names: bool) -> Rows:
    config: Any = getattr(playback.engine.game, "config", None)
    player = playback.engine.get_states([lane])[0]["players"][0]
    pills = ("color_first", "color_second"), ("preview_first", "preview_second")
    shown = [" ".join(t.Color(player[name]).name.lower() for name in pair) for pair in pills]
    mask = np.asarray(playback.engine.mask[lane])
    legal = int(mask.reshape(-1, mask.shape[-1])[0].sum())
    rows = [
        ("observation", f"{config.obs}, {config.obs_dtype}"),
        ("pill", shown[0]),
        ("preview", shown[1]),
        ("mask", f"{legal:,} of {mask.shape[-1]:,}"),
    ]
    if names:
        rows.append(("planes", ", ".join(PLANES.get(config.obs, ()))))
    return rows


# -- learning --------------------------------------------------------------------------------------


def learning(playback: Playback, lane: int, training: Training | None) -> Rows:
    """List the course of an environment's episodes, and the agent's training as far as known."""
    tally, last = playback.tally, playback.tally.last[lane]
    past = list(playback.tally.past[lane])
    row = playback.engine.get_states([lane])[0]
    player = row["players"][0]
    level = int(player["level"])
    task = "clear" if level >= t.FEWEST_VIRUSES_LEVEL else f"{t.match_goal(level)} matches"
    changes = {**playback.source.options}
    options = ", ".join(f"{k}={v}" for k, v in changes.items()) or "defaults"
    rows = [
        ("steps", f"{playback.totals.decisions:,}"),
        ("episodes", f"{tally.episodes:,}; here {len(past)}"),
        ("return", f"{tally.returns[lane]:.3f}"),
        ("  last", number(past[-1], 3) if past else NOTHING),
        ("  median of 16", number(float(np.median(past[-16:])), 3) if past else NOTHING),
        ("  mean of 100", number(float(np.mean(past)), 3) if past else NOTHING),
        *((name, _format_with_last(getattr(tally, name)[lane], last, name)) for name in LENGTHS),
        ("ended by", last["reason"] if last else NOTHING),
        ("task", task),
        ("level", f"{level}, {t.SPEEDS[player['speed_setting']]}"),
        ("viruses", f"{t.from_bcd(int(player['virus_bcd']))} of {player['initial_viruses']}"),
        ("budget", _describe_budget(row)),
    ]
    if training is None:
        return [*rows, ("training", "none: no run folder"), ("options", options)]
    return [*rows, *training.rows(), ("options", options)]


def _format_with_last(now: int, last: Mapping[str, Any] | None, name: str) -> str:
    """Return a number of the current episode, and of the last one if there was one."""
    return f"{now:,}" if last is None else f"{now:,}, last {last[name]:,}"


def _describe_budget(row: np.void) -> str:
    """Describe the budgets of the episode and how much of them is used."""
    parts = []
    if row["task_max_frames"]:
        parts.append(f"{row['ep_frames']:,} of {row['task_max_frames']:,} frames")
    if row["task_max_spawns"]:
        parts.append(f"{row['players'][0]['locks']} of {row['task_max_spawns']} pills")
    return ", ".join(parts) or "none"


# -- best times ------------------------------------------------------------------------------------


def best_times(playback: Playback, lane: int, store: BestTimes | None) -> Rows:
    """Return the best times of the level that is played, and the budget beside them."""
    row = playback.engine.get_states([lane])[0]
    player = row["players"][0]
    level, speed = int(player["level"]), t.SPEEDS[player["speed_setting"]]
    rows = [("of", f"level {level}, {speed}")]
    if store is None:
        return [*rows, ("store", "none: --best-times FILE"), ("budget", _describe_budget(row))]
    fractions = (0.1, 0.25, 0.5, 0.75, 0.9)
    stored: Sequence[float | None] = store.quantiles(level, speed, fractions)
    quantiles = stored or [None] * len(fractions)
    seed = int(row["seed"].astype(int) @ [256, 1])
    best = store.best(level, speed, seed)
    rows += [
        ("floor", number(store.floor(level, speed), 0)),
        *((f"{f:.0%}", number(q, 0)) for f, q in zip(fractions, quantiles, strict=True)),
        ("this game", number(None if best is None else best.frames, 0)),
    ]
    return [*rows, ("now", f"{row['ep_frames']:,}"), ("budget", _describe_budget(row))]


# -- reward ----------------------------------------------------------------------------------------


def reward(playback: Playback, lane: int) -> Rows:
    """Return count and sum of every term of the episode, or of the last if one just began."""
    tally, last = playback.tally, playback.tally.last[lane]
    fresh = tally.decisions[lane] == 0 and last is not None
    sums, counts, shaped = tally.sums[lane], tally.counts[lane], float(tally.shaped[lane])
    if fresh and last:
        sums, counts, shaped = last["sums"], last["counts"], last["shaped"]
    rows = [("episode", "the last" if fresh else "this")]
    for name, count, total in zip(REWARD_TERMS, counts, sums, strict=True):
        shown = name.removeprefix("reward_").replace("_", " ").replace("adjacency", "adj.")
        rows.append((shown, f"{count:>4} {total:>9.3f}"))
    whole = float(sums.sum())
    return [
        *rows,
        ("r_env", f"{'':>4} {whole:>9.3f}"),
        ("r_shape", f"{'':>4} {shaped:>9.3f}"),
        ("r_total", f"{'':>4} {whole + shaped:>9.3f}"),
        ("last top-out", f"{'':>4} {playback.tally.topout:>9.3f}"),
    ]


# -- all environments ------------------------------------------------------------------------------


def summary(playback: Playback) -> Rows:
    """Return the figures of all environments together."""
    rates, n = playback.rates, playback.num_envs
    total = None if rates is None else rates.frames / rates.at
    each = None if total is None else total / n
    decisions = None if rates is None else rates.decisions / rates.at
    computing, base = playback.computing_rate(), playback.baseline
    speedup = None if computing is None or base is None else computing / base
    past = [value for lane in playback.tally.past for value in lane]
    percent = NOTHING if speedup is None else f"{speedup / n:.0%}"
    return [
        ("environments", str(n)),
        ("fps in all / each", f"{number(total, 0)} / {number(each, 0)}"),
        ("decisions/s", number(decisions, 1)),
        ("speedup, efficiency", f"{number(speedup)}, {percent}"),
        ("episodes", f"{playback.tally.episodes:,}"),
        ("median return", number(float(np.median(past)), 3) if past else NOTHING),
    ]


def caption(playback: Playback, lane: int, row: Mapping[str, Any] | np.void) -> str:
    """Return a line about an environment, 18 characters at most."""
    player = row["players"][0]
    if row["reason"]:
        return f"{lane + 1} {t.REASONS[row['reason']]}"
    left = t.from_bcd(int(player["virus_bcd"]))
    return f"{lane + 1} L{player['level']} {left}v {row['ep_frames']:,}f"[:18]
