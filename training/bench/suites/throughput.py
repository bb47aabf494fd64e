"""Speed of the environments of all games, and what was asked of it; ``--only bars``."""

from __future__ import annotations

from training.bench.game import Throughput
from training.bench.games import GAMES
from training.bench.suite import Options, Suite
from training.bench.tables import env_table
from training.bench.targets import Row


def chosen(options: Options) -> dict[str, Throughput]:
    """Return the games that a command line asks for, by their titles."""
    named = options.args.game
    return {
        game.title: game.throughput
        for game in GAMES.values()
        if game.throughput is not None
        and (game.name == named or (named is None and not game.throughput.alone))
    }


def title(options: Options) -> str:
    """Return what the targets are of."""
    about = (f"{name} {throughput.about}" for name, throughput in chosen(options).items())
    return f"Bars: {'; '.join(about)}; medians of {options.repeats}"


class Games(Suite):
    """The suite, whose rows and targets are those of games."""

    def measure(self, options: Options) -> list[Row]:
        """Return the rows of the chosen games; each says whose it is."""
        given = options.repeats, options.seconds_of(self), options.args.lanes
        return [
            row | {"game": title}
            for title, throughput in chosen(options).items()
            for row in throughput.rows(*given)
        ]

    def judge_for(self, rows: list[Row], options: Options) -> list[Row]:
        """Return the targets of the chosen games."""
        return [
            judged
            for title, throughput in chosen(options).items()
            for judged in throughput.targets(
                [row for row in rows if row["game"] == title], options.args.max_mem_delta
            )
        ]


SUITE = Games(
    name="bars",
    tables=(env_table,),
    title=title,
    short_seconds=1.0,
    usual=True,
)
