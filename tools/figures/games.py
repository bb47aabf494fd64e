"""Tables of agents of the Game Boy and of Prospector."""

from __future__ import annotations

from collections.abc import Sequence

from tools.figures.records import clock, interval, newest, over_seeds, table, trained_at


def game_boy_agents(runs: str, where: str = "") -> str:
    """Return how far agents come on the Game Boy and who plays beside them, of runs so named.

    Parameters
    ----------
    runs : str
        What the names of the runs begin with.
    where : str
        Part of their evaluations: ``beginning``, or empty for states that no training has seen.
    """
    record, made, shares = newest("gameboy-learning.json"), [], ["reached"]
    revisions: set[str] = set()
    for name, run in record.head["runs"].items():
        if not name.startswith(runs):
            continue
        found = run["evaluation"][where] if where else run["evaluation"]
        shares = [x for x in _SHARES if x in found["policies"]["solver"]]
        for player, means in found["policies"].items():
            cells = [name, f"{run['steps']:,}", clock(run["core_s"])]
            cells = cells if player == "trained" else [""] * 3
            cells += [player, *(interval(means[x], 1, 100, " %") for x in shares)]
            cells += [interval(means["items"], 1)] if "items" in means else []
            made.append([*cells, interval(means["steps"], 0)])
        revisions.add(run["git_rev"][:7])
    heads = ("run", "decisions", "of a core", "who plays", *(_SHARES[x] for x in shares))
    more = ("candles",) if len(shares) > 1 else ()
    source = f"`benchmarks/{record.path.name}` at {', '.join(sorted(revisions))}"
    return f"{table((*heads, *more, 'steps'), made)}\n\n{source}."


def game_boy_over_seeds(runs: Sequence[str]) -> str:
    """Return how far agents come that differ in their seed alone, with the interval over seeds."""
    record = newest("gameboy-learning.json")
    every = [record.head["runs"][name] for name in runs]
    made = []
    for share, name in _SHARES.items():
        found = [run["evaluation"]["policies"]["trained"][share] for run in every]
        values = [100 * value for value, *_ in found]
        least = f"{min(values):.1f} to {max(values):.1f} %"
        made.append([name, interval(over_seeds(found, least=0, most=1), 1, 100, " %"), least])
    heads = ("", "mean over seeds", "least to largest")
    return f"{table(heads, made)}\n\n{trained_at(record, every)}."


_SHARES = {"four_items": "four candles", "first_event": "first event", "reached": "reached"}


QUEST = {"reached": "quest", "first_event": "first event", "four_items": "four candles"}


def prospector_players() -> str:
    """Return what trained agents of Prospector, reference lines and bots come to."""
    record, made = newest("prospector-learning.json"), []
    runs = record.head["runs"]
    found = {
        (f"{player}, `{name}`" if player.startswith("trained") else f"`{player}`"): policy
        for name, run in runs.items()
        for player, policy in run["evaluation"]["episodes"]["policies"].items()
    }
    later = newest("prospector-bots.json")  # the same worlds, and bots that were added since
    for player, policy in later.head["bots"]["policies"].items():
        found.setdefault(f"`{player}`", policy)
    for player, policy in found.items():
        values = policy["intervals"]
        digits = 3 if abs(values["return"][0]) < 1 else 1
        cells = [interval(values["return"], digits), interval(values["net_profit"])]
        cells.append(interval(values["survival"], 0, 100, " %"))
        made.append([player, *cells, interval(values["steps"]), interval(values["ticks"])])
    heads = ("player", "return", "net profit", "survives", "steps", "ticks")
    sources = f"{trained_at(record, runs.values())}; `rich_haul`: {later.source}"
    return f"{table(heads, made)}\n\n{sources}."
