"""What the committed agent of Skull King bids: ``python -m tools.bids``.

Four of it play games, and it bids on the hands of ``training/apps/skullking/hands.json``. Search
then takes some of the same decisions, drawn at random, and the hands. Its options do not depend on
the agent: the network plays its rollouts, all worlds are equally likely, and the best mean is bid.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tools.command import new_parser, refusing
from training.apps.skullking import bidding
from training.apps.skullking.bidding import TABLE, Bids, Hand
from training.players.names import Who, load_who
from training.players.policy import Policy
from training.run import files, machine
from training.run.options import require
from training.run.seeds import MATCH_SEEDS

RECORD = Path("benchmarks/skullking-bids.json")
AGENT = "pretrained/skullking"
SEARCH = {
    "worlds": 256,
    "decisions": "bids",
    "rollouts": "policy",
    "belief": "uniform",
    "outcome": "margin",
    "horizon": "round",
    "lead": 0.0,
    "halving": True,
    "blocks": 4,
}
SEED = MATCH_SEEDS + 7_000_000  # of the deals; those of other evaluations have others
AT_ONCE = 50  # decisions that are searched together


def draw(found: Bids, count: int) -> np.ndarray:
    """Draw some of the bids, int (count,)."""
    allowed = f"from 1 to {len(found.bids):,}, the bids of --rounds"
    require(1 <= count <= len(found.bids), "--decisions", count, allowed)
    return np.random.default_rng(0).permutation(len(found.bids))[:count]


def search_bids(who: Who, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the bids of an agent that searches, for some rows after the others."""
    for first in range(0, len(rows), AT_ONCE):
        some = rows[first : first + AT_ONCE]
        yield bidding.decide(who, TABLE.make(len(some)), some)


def compare(who: Who, found: Bids) -> dict[str, Any]:
    """Summarise what search bids where an agent has bid, beside the agent itself."""
    begun, made = time.process_time(), list[np.ndarray]()
    for bids in search_bids(who, found.rows):
        made.append(bids.astype(np.int64))
        done = sum(map(len, made))
        print(f"{done:,} of {len(found.bids):,} decisions searched", flush=True)
    bids = np.concatenate(made)
    theirs = replace(found, bids=bids)
    return {
        "changed": float((bids != found.bids).mean()),
        "agent": without_tricks(found),
        "search": without_tricks(theirs),
        "cpu_ms_per_decision": round(1000 * (time.process_time() - begun) / len(bids), 2),
    }


def without_tricks(found: Bids) -> dict[str, Any]:
    """Summarise bids that were not played, so that nobody knows what they would have won."""
    summary = bidding.summarise(found)
    for part in (summary, *summary["by_strength"]):
        part.pop("made")
        part.pop("mean_won", None)
    return summary


def list_hands(hands: Sequence[Hand], who: Who, searching: Who) -> list[dict[str, Any]]:
    """Return a row for each hand: what is right, and what the agent and search bid."""
    bids = zip(bidding.bid_hands(who, hands), bidding.bid_hands(searching, hands), strict=True)
    rows = []
    for hand, (bid, searched) in zip(hands, bids, strict=True):
        about = {name: getattr(hand, name) for name in ("name", "kind", "round", "least", "most")}
        rows.append({**about, "bid": bid, "right": hand.allows(bid), "search": searched})
    return rows


@refusing
def main(argv: list[str] | None = None) -> int:
    """Write the record; return the exit status."""
    parse = new_parser("bids", __doc__)
    about = "folder of the agent or name of the run, default %(default)s"
    parse.add_argument("--agent", default=AGENT, help=about)
    about = "rounds that four of it play, default %(default)s"
    parse.add_argument("--rounds", type=int, default=5000, help=about)
    about = "bids that search takes too, default %(default)s"
    parse.add_argument("--decisions", type=int, default=1000, help=about)
    parse.add_argument("--out", type=Path, default=RECORD, help="record to write")
    args = parse.parse_args(argv)
    files.prepare("--out", args.out)
    who = load_who(args.agent)
    trained = isinstance(who, Policy)
    require(trained, "--agent", args.agent, "a trained agent, alone: its search is fixed here")
    assert isinstance(who, Policy)
    searching = who.search(**SEARCH)
    begun = time.process_time()
    found = bidding.play_rounds(who, args.rounds, SEED)
    chosen = draw(found, args.decisions)
    print(f"{args.rounds:,} rounds played", flush=True)
    some = Bids(found.rows[chosen], found.bids[chosen], found.won[chosen])
    record = {
        "who": args.agent,
        "checkpoint": {"name": who.path.name, "sha256": files.sha256(who.path / "MANIFEST.json")},
        "table": {"env": TABLE.env, **TABLE.options},
        "rounds": args.rounds,
        "first_seed": SEED,
        "high": bidding.HIGH,
        "played": bidding.summarise(found),
        "hands": list_hands(bidding.load_hands(), who, searching),
        "searched": {"options": searching.options.to_dict(), **compare(searching, some)},
    }
    record["cpu_s"] = round(time.process_time() - begun, 1)
    files.write_json(args.out, {**machine.taken_on(), **record})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
