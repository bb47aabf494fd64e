"""The panels beside the boards, each a list of names and values; any game has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from training.logs.run_data import RunData, read_run
from training.run import games
from training.run.jsonl import read_lines
from training.run.options import require
from training.run.rounding import rounded
from training.terminal.session import TerminalSession

NOTHING = "n/a"
LOSSES = ("loss", "policy_loss", "value_loss", "entropy", "kl")
Rows = list[tuple[str, str]]


def format_number(value: float | None, digits: int = 2) -> str:
    """Format a number; an unknown one is ``n/a``."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return f"{value:,.{digits}f}"


def make_grid(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names and values in two columns."""
    shown = Table.grid(padding=(0, 1))
    shown.add_column(style="dim", no_wrap=True)
    shown.add_column(overflow="fold")
    for name, value in rows:
        shown.add_row(name, Text(value))
    return shown


def join_rows(rows: Sequence[tuple[str, str]]) -> Text:
    """Return names and values one behind the other."""
    return Text("   ").join(Text.assemble((f"{name} ", "dim"), value) for name, value in rows)


class GamePanels:
    """What is shown of a game beside what is shown of all; these are those of any game.

    The capability ``panels`` is a class derived from this one.

    Parameters
    ----------
    times : Path or None
        File of best times (``--best-times``).

    Raises
    ------
    ConfigError
        If the game has none.
    """

    def __init__(self, times: Path | None = None) -> None:
        require(times is None, "--best-times", times, "left out: this game keeps none")

    def draw_tile(self, session: TerminalSession, lane: int) -> tuple[str, Text]:
        """Draw a lane among many: a line about it, and its board."""
        now = session.episode(lane)
        about = f"{lane + 1}  decision {now['decisions']}, return {now['return']:.6g}"
        return about, Text.from_ansi(session.draw(lane))

    def list_rows(self, session: TerminalSession, lane: int) -> Mapping[str, Rows]:
        """List what is known of the state of a lane, by the title of the panel."""
        game, info = session.engine.game, session.moment.info or {}
        columns = {name: info[name][lane] for name in info if name not in session.tally.terms}
        values = {name: _format_value(game.shown(name, x)) for name, x in columns.items()}
        return {"info": [(name.replace("_", " "), value) for name, value in values.items()]}


def find_panels(env: str, times: Path | None = None) -> GamePanels:
    """Find the panels of the game of an environment."""
    make = games.find(env, "panels") or GamePanels
    panels: GamePanels = make(times)
    return panels


def _format_value(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return " ".join(_format_value(each) for each in value.ravel())
    return f"{float(value):,.6g}" if isinstance(value, float | np.floating) else str(value)


def list_panels(
    session: TerminalSession, lane: int, own: GamePanels, training: Rows
) -> Iterable[tuple[str, Rows]]:
    """List all panels of a lane, with their titles."""
    yield from own.list_rows(session, lane).items()
    yield "episode", list_episode(session, lane)
    yield "reward", list_rewards(session, lane)
    yield "performance", list_performance(session, lane)
    yield "training", training


def list_episode(session: TerminalSession, lane: int) -> Rows:
    """List the course of the episodes of a lane."""
    tally, now = session.tally, session.episode(lane)
    past, last = list(tally.past[lane]), tally.last[lane]
    names = ("decisions", "frames") if session.engine.spec.has_tau else ("decisions",)
    lengths = [
        (name, f"{now[name]:,}" if last is None else f"{now[name]:,}, last {last[0][name]:,}")
        for name in names
    ]
    options = ", ".join(f"{k}={v}" for k, v in session.source.options.items()) or "defaults"
    return [
        *lengths,
        ("return", f"{now['return']:.3f}"),
        ("  last", format_number(past[-1], 3) if past else NOTHING),
        ("  median of 16", format_number(float(np.median(past[-16:])), 3) if past else NOTHING),
        ("  mean of 100", format_number(float(np.mean(past)), 3) if past else NOTHING),
        ("episodes", f"{tally.episodes:,}; here {len(past)}"),
        ("options", options),
    ]


def list_rewards(session: TerminalSession, lane: int) -> Rows:
    """List count and sum of every term of the episode, or of the last if one just began."""
    now, last = session.episode(lane), session.tally.last[lane]
    fresh = now["decisions"] == 0 and last is not None and session.is_newest
    if fresh and last:
        now = last[0]
    rows = [("episode", "the last" if fresh else "this")]
    for name, count, total in zip(session.tally.terms, now["counts"], now["sums"], strict=True):
        shown = name.removeprefix("reward_").replace("_", " ").replace("adjacency", "adj.")
        rows.append((shown, f"{count:>4} {total:>9.3f}"))
    whole, shaped = float(now["return"]), float(now["shaped"])
    return [
        *rows,
        ("r_env", f"{'':>4} {whole:>9.3f}"),
        ("r_shape", f"{'':>4} {shaped:>9.3f}"),
        ("r_total", f"{'':>4} {whole + shaped:>9.3f}"),
    ]


def list_performance(session: TerminalSession, lane: int) -> Rows:
    """List the speed of play, where its time goes, and what a player is shown."""
    rates, taken, engine = session.rates, session.moment.taken, session.engine
    total = None if rates is None else rates.frames / rates.at
    step = None if rates is None or rates.env <= 0 else rates.longest / rates.env
    rows = [
        ("speed", "maximum" if session.maximum else f"{session.speed:.3g}x"),
        ("fps of a step", format_number(step, 0)),
        ("fps in all", format_number(total, 0)),
        ("fps each", format_number(None if total is None else total / session.num_envs, 0)),
        ("tau max / sum", f"{int(taken.max()):,} / {int(taken.sum()):,}"),
    ]
    if rates is not None and rates.frames:
        rest = rates.at - rates.env - rates.inference
        parts = {"us a frame": rates.at, "  env": rates.env, "  inference": rates.inference}
        for name, seconds in {**parts, "  rest": rest}.items():
            rows.append((name, format_number(max(seconds, 0.0) * 1e6 / rates.frames, 0)))
    mask = np.asarray(session.moment.mask)[lane]
    legal = int(mask.reshape(-1, mask.shape[-1])[0].sum())
    kind = "record" if engine.obs_dtype.names else str(engine.obs_dtype)
    shape = " x ".join(map(str, engine.obs_shape))
    return [
        *rows,
        ("observation", f"{kind} {shape}"),
        ("mask", f"{legal:,} of {mask.shape[-1]:,}"),
    ]


def list_summary(session: TerminalSession) -> Rows:
    """List the figures of all lanes together."""
    rates, n, base = session.rates, session.num_envs, session.baseline
    total = None if rates is None else rates.frames / rates.at
    each = None if total is None else total / n
    decisions = None if rates is None else rates.decisions / rates.at
    computing = None if rates is None or rates.env <= 0 else rates.frames / rates.env
    speedup = None if computing is None or base is None else computing / base
    past = [value for lane in session.tally.past for value in lane]
    percent = NOTHING if speedup is None else f"{speedup / n:.0%}"
    return [
        ("environments", str(n)),
        ("fps in all / each", f"{format_number(total, 0)} / {format_number(each, 0)}"),
        ("decisions/s", format_number(decisions, 1)),
        ("speedup, efficiency", f"{format_number(speedup)}, {percent}"),
        ("episodes", f"{session.tally.episodes:,}"),
        ("median return", format_number(float(np.median(past)), 3) if past else NOTHING),
    ]


# -- the training of an agent ----------------------------------------------------------------------


def read_training(folder: Path | None) -> Rows:
    """Read stage, losses, entropy and KL as a training left them; nothing without a folder."""
    if folder is None:
        return []
    events = read_lines(folder / "events.jsonl")
    gates = [event for event in events if event.get("event") == "gate" and _is_test(event)]
    return list_training(read_run(folder), gates)


def list_training(run: RunData, gates: Sequence[Mapping[str, Any]]) -> Rows:
    """List what is known of a run, and of the last of the tests of its curriculum."""
    rows: Rows = []
    if gates:
        last = gates[-1]
        played = last["successes"] + last["failures"]
        rate = f"{rounded(last['successes'] / max(played, 1), 0, 100)}% of {played}"
        rows += [
            ("stage", str(last["stage"])),
            ("stage rate", f"{rate}, low {rounded(last['interval'][0], 0, 100)}%"),
        ]
    losses = {name: run.last(f"train/{name}") for name in LOSSES}
    if np.isfinite([*losses.values()]).any():
        rows += [(name.replace("_", " "), format_number(x, 4)) for name, x in losses.items()]
    return rows


def _is_test(gate: Mapping[str, Any]) -> bool:
    """Tell whether an event says how a test of the curriculum ended."""
    counts = all(type(gate.get(name)) is int for name in ("successes", "failures"))
    interval = gate.get("interval")
    if not isinstance(interval, list) or not interval or "stage" not in gate:
        return False
    return counts and all(type(x) in (int, float) for x in interval)
