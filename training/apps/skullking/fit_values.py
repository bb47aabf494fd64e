"""Train a value network of Skull King: ``python -m training values AGENT --out FILE``."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastenv.skullking.tables import Phase
from training.run.command_line import exit_status, new_parser

if TYPE_CHECKING:  # they import torch, which the options do not need
    from fastenv import BatchEngine
    from training.players.player import MakePlayer, Player

ABOUT = """\
Train the value network that ends search rollouts in Skull King before the end of a round. It sees
all hands, as a rollout does, and predicts the points that each seat gains until the end of the
round when the given agent plays all seats.
"""
STRANGE = 0.15  # share of early decisions that are any legal one
WITHIN = 0.1  # share of the rows with cards on the table that are kept
LANES = 2000  # games that are played together
UNIT = 100.0  # points
JUDGES = 8  # one game of so many only judges
LEAST_GAMES, MOST_GAMES, MOST_EPOCHS, MOST_WIDTH = JUDGES, 10_000_000, 10_000, 65_536


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    example = "heuristic --out value.safetensors"
    parse = new_parser("values", ABOUT, example, "AGENT --out FILE [options]")
    parse.add_argument("agent", help="run, checkpoint, or name of a bot")
    about = "network to write, safetensors"
    parse.add_argument("--out", type=Path, required=True, metavar="FILE", help=about)
    about = "games to play; default 16,000; one eighth is held out for validation"
    parse.add_argument("--games", type=int, default=16_000, help=about)
    parse.add_argument("--epochs", type=int, default=10, help="training epochs; default 10")
    widths, about = [256, 128], "widths of the hidden layers; default 256 128"
    parse.add_argument("--hidden", type=int, nargs="+", default=widths, metavar="N", help=about)
    parse.add_argument("--seed", type=int, default=0, help="training seed; default 0")
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    return exit_status(lambda: run(args))


def _check(args: argparse.Namespace) -> None:
    from training.run.options import require

    within = LEAST_GAMES <= args.games <= MOST_GAMES
    allowed = f"from {LEAST_GAMES} to {MOST_GAMES:,}"
    require(within, "--games", args.games, allowed)
    require(1 <= args.epochs <= MOST_EPOCHS, "--epochs", args.epochs, f"from 1 to {MOST_EPOCHS:,}")
    widths = min(args.hidden) >= 1 and max(args.hidden) <= MOST_WIDTH
    require(widths, "--hidden", args.hidden, f"widths from 1 to {MOST_WIDTH:,}")
    require(0 <= args.seed < 2**32, "--seed", args.seed, "from 0 to 4,294,967,295")


def run(args: argparse.Namespace) -> None:
    """Play, train, judge, and write the file."""
    from training.run import files

    _check(args)
    files.prepare("--out", args.out)
    import torch

    from training.apps.skullking.round_view import RoundView
    from training.evaluation.contest import load_players, table_of
    from training.run import machine
    from training.search.values import Head, ValueNetwork, fit

    begun = time.process_time()
    players = load_players([args.agent])
    table = table_of(players, "SkullKingFlat-v0")
    engine = table.make(1)
    view = RoundView(engine.game)
    seen, gained, left, held = _collect_samples(args, players[0].who, table, view)
    torch.manual_seed(args.seed)
    shape = {"inputs": view.inputs, "outputs": gained.shape[1], "hidden": tuple(args.hidden)}
    how = {name: getattr(args, name) for name in ("agent", "games", "epochs", "seed")}
    about = {**how, "samples": len(seen), **machine.revision()}
    head = Head(env=table.env, unit=UNIT, **shape)
    value = ValueNetwork(head, head.net())
    orders = view.variants()
    fit(value, seen[~held], gained[~held], variants=orders, epochs=args.epochs, seed=args.seed)
    scores = judge(value(seen[held].astype(np.float32)), gained[held], left[held])
    about |= {"held_out": scores, "cpu_minutes": round((time.process_time() - begun) / 60, 1)}
    ValueNetwork(Head(**{**head.to_dict(), "about": about}), value.net).save(args.out)
    for name, row in scores.items():
        print(f"{name}: R2 {row['r2']:.3f}, of margins {row['r2_margin']:.3f}, n {row['n']}")


def _collect_samples(
    args: argparse.Namespace, who: Any, table: Any, view: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Play games; return inputs, gains, tricks left, and which samples are held out, by batch."""
    from training.players.names import make_player

    lanes = min(LANES, args.games // JUDGES)
    batches = args.games // lanes
    parts: list[tuple[np.ndarray, ...]] = []
    for k in range(batches):
        engine = table.make(lanes)
        seed = args.seed + k * lanes
        kept, gains = play_samples(engine, partial(make_player, who), seed)
        running, seen, seats = view(kept)
        rows, gained = kept[running], gains[running]
        own = np.take_along_axis(gained, seats, axis=1)
        held = np.full(len(rows), k < batches // JUDGES)
        parts.append((seen.astype(np.float16), own, rows["cards"] - rows["tricks"], held))
    seen, own, left, held = (np.concatenate(each) for each in zip(*parts, strict=True))
    return seen, own, left, held


def judge(predicted: np.ndarray, came: np.ndarray, left: np.ndarray) -> dict[str, dict[str, float]]:
    """Compute the share of variance that is explained, of points and margins, by tricks to come."""
    scores = {}
    for name, here in [("all", left > 0), *((str(k), left == k) for k in np.unique(left))]:
        figures: dict[str, float] = {"n": int(here.sum())}
        figures["r2"] = _compute_r2(predicted[here], came[here])
        figures["r2_margin"] = _compute_r2(
            _compute_margins(predicted[here]), _compute_margins(came[here])
        )
        scores[name] = figures
    return scores


def _compute_margins(points: np.ndarray) -> np.ndarray:
    """Compute the margin of each seat over the mean of the others."""
    others = points.shape[1] - 1
    ahead: np.ndarray = points - (points.sum(1, keepdims=True) - points) / others
    return ahead


def _compute_r2(predicted: np.ndarray, came: np.ndarray) -> float:
    return float(1 - ((predicted - came) ** 2).sum() / ((came - came.mean()) ** 2).sum())


# -- samples ---------------------------------------------------------------------------------------


class Strayer:
    """Plays as another player, but takes random legal cards for some early ones of rounds.

    Parameters
    ----------
    player : Player
    quiet : ndarray of int, shape (lanes, rounds)
        The trick of each round from which on it plays as the other.
    rng : Generator
        Of all lanes.

    Attributes
    ----------
    rows, lanes : list of ndarray
        Decisions about cards from there on, and where they were.
    """

    def __init__(self, player: Player, quiet: np.ndarray, rng: np.random.Generator) -> None:
        self._player, self._quiet, self._rng = player, quiet, rng
        self.rows: list[np.ndarray] = []
        self.lanes: list[np.ndarray] = []

    def begin(self, engine: Any, lanes: np.ndarray, seeds: np.ndarray | None = None) -> None:
        """Let the other begin."""
        self._player.begin(engine, lanes, seeds)

    def act(self, engine: Any, lanes: np.ndarray) -> np.ndarray:
        """Return the other's actions, and some of chance; keep rows."""
        engine.refresh()
        rng, rows, legal = self._rng, engine.get_states(lanes), engine.mask[lanes]
        about_cards = rows["phase"] == Phase.PLAY
        early = rows["tricks"] < self._quiet[lanes, rows["round_idx"]]
        wanted = about_cards & ~early
        wanted &= (rows["table_len"] == 0) | (rng.random(len(lanes)) < WITHIN)
        self.rows.append(rows[wanted])
        self.lanes.append(lanes[wanted])
        actions = self._player.act(engine, lanes)
        strange = early & about_cards & (rng.random(len(lanes)) < STRANGE)
        drawn = np.where(legal, rng.random(legal.shape), -1.0).argmax(1)
        return np.where(strange, drawn, actions).astype(np.int32)


def play_samples(engine: BatchEngine, make: MakePlayer, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Play whole games by one player in all seats, a game a lane, and keep rows within rounds.

    Search asks about positions into which nobody would have played. So each round has a trick,
    drawn anew, before which some decisions are any legal one; rows are kept from there on, since
    what is gained must be what the player makes of it.

    Parameters
    ----------
    engine : BatchEngine
        Of a table.
    make : callable
        Makes the player.
    seed : int
        Of the deals and of all that is drawn.

    Returns
    -------
    ndarray, shape (n,)
        Rows.
    ndarray of float32, shape (n, P)
        The points that each seat gained from there to the end of the round.
    """
    from training.evaluation.loop import Loop

    rng, n = np.random.default_rng(seed), engine.num_envs
    game: Any = engine.game
    sizes = game.config.hand_sizes()
    quiet = (rng.random((n, len(sizes))) * np.array(sizes)).astype(np.int64)
    strayer = Strayer(make(engine), quiet, rng)
    totals = np.zeros((n, len(sizes) + 1, game.num_seats))
    for step in Loop(engine, [strayer], seed + np.arange(n)):
        rows = engine.get_states(step.lanes)
        totals[step.lanes, rows["rounds_done"]] = game.outcomes(rows)
    kept, lane = np.concatenate(strayer.rows), np.concatenate(strayer.lanes)
    now = kept["round_idx"].astype(np.int64)
    gained = totals[lane, now + 1] - totals[lane, now]
    return kept, gained.astype(np.float32)
