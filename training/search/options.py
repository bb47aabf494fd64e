"""The options of a search: its budget, its model of the opponents, and its values."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from training.run.options import Number, Options, Text, Truth, Whole, option, require
from training.run.seating import SEARCH, is_search

ALLOWED = "search:WHO, a trained agent or a bot, and behind it options such as ,worlds=64"


class SearchOptions(Options):
    """Options of a search; see ``docs/explanation/search.md``."""

    SECTION: ClassVar[str] = "search."

    worlds: Whole = option(
        32, "worlds of a decision, in which every action is played on", ge=1, le=65_536
    )
    budget_ms: Number | None = option(
        None,
        "milliseconds of a decision, instead of a number of worlds; of many positions at once they "
        "add up",
        "above 0 and at most an hour, 3,600,000, or null for a number of worlds",
        gt=0,
        le=3_600_000,
    )
    rollouts: Text | None = option(
        None,
        "who plays all seats in the rollouts: a bot; several bots such as ``heuristic+rule_hard``, "
        "each in its share of the worlds; ``policy``, the network itself; or ``model``, whoever is "
        "thought to sit there by what they did in rounds that are over; null is the game's default",
        "the name of a bot, bots joined by +, policy, model, or null for the game's default",
    )
    belief: Literal["uniform", "bids", "plays", "open"] = option(
        "uniform",
        "how likely worlds are: ``uniform`` all equally; ``bids`` by how likely the policy would "
        "have made the bids of the others with their hands; ``plays`` by its bids and plays; "
        "``open`` looks at all cards, which no player may: an upper bound",
    )
    outcome: Text | None = option(
        None,
        "what is judged: ``points`` of the player, its ``margin`` over the mean of the others, or "
        "what the game offers beside, such as the chance to ``win`` or the ``profit``; null is the "
        "game's default",
        "points, margin, an outcome of the game, or null for the game's default",
    )
    horizon: Text | None = option(
        None,
        "where rollouts end: a stop condition of the game such as ``round`` or ``tricks=2``, or "
        "``end`` of the episode; null is the game's default",
        "a stop condition of the game, end, or null for the game's default",
    )
    limit: Whole | None = option(
        None,
        "decisions after which a rollout ends anyway; null is the game's default",
        "at least 1, or null for the game's default",
        ge=1,
    )
    value: Text | None = option(
        None,
        "file of a value network, which says what becomes of a rollout that ends before the game's "
        "usual horizon; null takes it as it stands",
        "the file of a value network, or null",
    )
    decisions: Text | None = option(
        None,
        "which decisions are searched, such as ``cards``, ``bids`` or ``all``; the others are the "
        "policy's; null is the game's default",
        "a set of decisions that the game names, all, or null for the game's default",
    )
    halving: Truth = option(
        True, "drop actions that fall behind, so that the best ones see more worlds"
    )
    blocks: Whole = option(
        4,
        "parts of the worlds, after each of which actions are dropped that are behind beyond "
        "doubt; with 1 all actions see all worlds",
        ge=1,
        le=1024,
    )
    lead: Number = option(
        0.0,
        "standard errors by which an action must be ahead of the policy's own, or else that is "
        "played, unless it was dropped; in few worlds more of them",
        ge=0,
    )
    temperature: Number | None = option(
        None,
        "play a draw from the policy's distribution times exp(mean / temperature); null plays the "
        "best mean",
        "above 0, or null for the best mean",
        gt=0,
    )

    @model_validator(mode="after")
    def _check_budget(self) -> SearchOptions:
        has_worlds = "worlds" in self.model_fields_set
        allowed = "left out with budget_ms, which takes as many as there is time for"
        require(self.budget_ms is None or not has_worlds, "search.worlds", self.worlds, allowed)
        return self


def parse(name: str) -> tuple[str, SearchOptions]:
    """Parse a name into the base player and the search options.

    Raises
    ------
    ConfigError
        If the name has another form or unknown options.
    """
    who, *assignments = name.removeprefix(SEARCH).split(",")
    require(is_search(name) and bool(who) and not is_search(who), "player", name, ALLOWED)
    values: dict[str, Any] = {}
    for text in assignments:
        key, sign, value = text.partition("=")
        require(bool(sign and key) and key not in values, "player", name, ALLOWED)
        values[key] = {"true": True, "false": False, "null": None}.get(value, value)
    return who, SearchOptions.from_mapping(values)
