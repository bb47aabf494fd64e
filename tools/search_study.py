"""What search is worth in Skull King: ``python -m tools.search_study PART ... --games 400``.

Each row of a part is one seat against three of the same opponent, on duplicate deals in every
rotation of the seats. ``benchmarks/skullking-search.json`` has the rows; RUNS.md tells them. The
part ``champion`` is of another agent (``--agent``) and has a record of its own, which its card
tells. Rows have the games won on each deal: with the agent alone on the same deals they are paired.
With ``--go-on`` an interrupted study goes on: each row is written as soon as it is played.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from fastenv.skullking.config import MIXED_OPPONENTS
from tools.command import new_parser
from training.evaluation import contest
from training.run import files, machine

RECORD = Path("benchmarks/skullking-search.json")
AGENT = "pretrained/skullking-ppo"
CHAMPION = "pretrained/skullking"
VALUE = "pretrained/skullking-value/value.safetensors"
STRANGERS = (AGENT, "heuristic", "rule_hard")  # whom nothing here was tuned against
SEED = 40_000  # of the deals; those of other evaluations have others
MIXED = "mixed"  # a bot of each kind has another seat
ALONE = "the agent"  # label of the row that searches are compared with
PARTS_OF_A_WIN = 12  # a win is whole, or shared by two, three or four


def search(agent: str = AGENT, **options: Any) -> str:
    """Return the name of an agent that searches with these options.

    Who plays the rollouts is always named: the default depends on the agent.
    """
    options.setdefault("rollouts", "heuristic")
    return f"search:{agent}" + "".join(f",{name}={value}" for name, value in options.items())


BEST = search(worlds=64, rollouts="model", belief="bids")
PARTS: dict[str, dict[str, str]] = {
    "best": {"model and bids, 64 worlds": BEST},
    "none": {"the agent": AGENT, "heuristic": "heuristic", "rule_hard": "rule_hard"},
    "worlds": {f"{n} worlds": search(worlds=n) for n in (8, 16, 32, 64, 128, 256)},
    "blueprint": {
        "rule_hard": search(worlds=32, rollouts="rule_hard"),
        "random": search(worlds=32, rollouts="random"),
        "heuristic and rule_hard": search(worlds=32, rollouts="heuristic+rule_hard"),
        "the network": search(worlds=32, rollouts="policy"),
        "whoever it is": search(worlds=32, rollouts="model"),
    },
    "belief": {
        "bids": search(worlds=32, belief="bids"),
        "bids and plays": search(worlds=32, belief="plays"),
    },
    "outcome": {
        "points": search(worlds=32, outcome="points"),
        "win": search(worlds=32, outcome="win"),
    },
    "horizon": {
        "one trick": search(worlds=32, horizon="tricks=1"),
        "three tricks": search(worlds=32, horizon="tricks=3"),
    },
    "value": {
        f"{name}, closed by a network": search(worlds=32, horizon=horizon, value=VALUE)
        for name, horizon in (("one trick", "tricks=1"), ("three tricks", "tricks=3"))
    },
    "bids": {
        "bids and cards": search(worlds=32, decisions="all"),
        "bids alone": search(worlds=32, decisions="bids"),
    },
    "halving": {"all worlds for all actions": search(worlds=32, halving="false")},
    "budget": {f"{ms} ms": search(budget_ms=ms) for ms in (0.2, 1, 5)},
    "open": {
        "all cards open, by the network": search(worlds=32, rollouts="policy", belief="open"),
        "fair, by the network": search(worlds=32, rollouts="policy", belief="bids"),
    },
    "bot": {"heuristic that searches": "search:heuristic,worlds=32"},
}
WITH_AGENT = "champion"  # the part whose agent is an argument


def list_defaults(agent: str) -> dict[str, str]:
    """List an agent alone and with default search, by label."""
    return {
        ALONE: agent,
        **{f"{n} worlds, defaults": f"search:{agent},worlds={n}" for n in (8, 32, 128)},
        "32 worlds, heuristic": search(agent, worlds=32),
    }


def name_others(against: str) -> tuple[str, ...]:
    """Name who has the three other seats: one name for all, or the bots of ``mixed``."""
    return MIXED_OPPONENTS if against == MIXED else (against,) * 3


def count_wins(shares: Sequence[float], rotations: int) -> str:
    """Write the wins on each deal over all rotations, in twelfths, with spaces between them."""
    return " ".join(str(round(share * rotations * PARTS_OF_A_WIN)) for share in shares)


def rows(
    parts: list[str],
    games: int,
    others: list[str],
    agent: str = CHAMPION,
    played: Collection[tuple[str, str]] = (),
) -> Iterator[dict[str, Any]]:
    """Play the rows of parts, one seat against three others.

    Parameters
    ----------
    parts : list of str
    games : int
        Of each row, at least.
    others : list of str
        Names of opponent sets: a bot, a trained agent, or ``mixed``.
    agent : str
        Who searches in the part ``champion``.
    played : collection of (str, str), optional
        Who plays against whom in rows that are left out.
    """
    for part in parts:
        for label, who in (list_defaults(agent) if part == WITH_AGENT else PARTS[part]).items():
            for other in others:
                if (who, other) in played:
                    continue
                players = contest.load_players([who, *name_others(other)])
                found = contest.contest(players, games, env="SkullKingFlat-v0", seed=SEED)
                first = next(one for one in found.standings if one.name == players[0].name)
                yield {
                    "part": part,
                    "label": label,
                    "who": who,
                    "against": other,
                    "deals": found.deals,
                    "games": found.games,
                    "first_seed": found.first_seed,
                    **first.record(),
                    "twelfths_won": count_wins(first.wins_on_deals, found.num_players),
                }


def main() -> None:
    """Play, show and store the rows that were asked for; others of the record stay."""
    parse = new_parser("search_study", __doc__)
    parse.add_argument(
        "parts",
        nargs="*",
        choices=[*PARTS, WITH_AGENT, []],
        help=f"default all of {', '.join(PARTS)}",
    )
    about = f"who searches in the part {WITH_AGENT}; default {CHAMPION}"
    parse.add_argument("--agent", default=CHAMPION, metavar="PATH", help=about)
    about = f"opponents of the rows, also {MIXED}; default: {', '.join(STRANGERS)}"
    parse.add_argument("--against", nargs="+", default=[*STRANGERS], metavar="WHO", help=about)
    parse.add_argument("--games", type=int, default=800, help="games per row; default 800")
    parse.add_argument("--out", type=Path, default=RECORD, help="record to write")
    about = "do not play rows again that the record has, as after an interruption"
    parse.add_argument("--go-on", action="store_true", help=about)
    args = parse.parse_args()
    stored = json.loads(args.out.read_text()) if args.out.exists() else {"rows": []}
    kept = stored["rows"] if args.go_on else []
    played = {(r["who"], r["against"]) for r in kept if r["games"] == args.games}
    for row in rows(args.parts or [*PARTS], args.games, args.against, args.agent, played):
        row |= {"generated_at": machine.now(), **machine.revision()}
        same = (row["who"], row["against"])
        stored["rows"] = [r for r in stored["rows"] if (r["who"], r["against"]) != same]
        stored["rows"].append(row)
        begun = {"command": stored["command"]} if args.go_on and "command" in stored else {}
        stored |= machine.taken_on() | begun
        files.write_json(args.out, stored)
        share = row["win_share"]
        print(f"{row['part']:10} {row['label']:26} against {row['against']:22} {share}", flush=True)


if __name__ == "__main__":
    main()
