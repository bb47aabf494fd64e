"""Thoughts about a moment: those of the players and of an adviser, and the observation.

Thoughts of players name their cards: where a person plays against them they are left out, unless
hidden things are to be shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastenv.errors import ConfigError
from training.players.names import make_player
from training.players.player import Explains, Player, Thought, begin_all
from training.players.policy import Policy
from training.players.value import LaneValue, find_lane_value
from training.playing.decision import get_thought, let_explain, name_adviser, weigh
from training.playing.game_table import GameTable
from training.playing.session import GameSession
from training.run import games
from training.run.seating import SEARCH, short_name
from training.studio.forms import agents_for
from training.studio.messages import Refusal
from training.studio.places import PERSON, Places
from training.studio.seating import Seated, load
from training.studio.show import Shown, is_secret

MAX_NUMBERS = 4096  # of a field of an observation
MAX_ACTIONS = 64  # whose values or probabilities are listed


def find_adviser(table: GameTable, shown: Shown, places: Places) -> str | None:
    """Find who advises a person by default: a search with an agent that is at the table.

    Where none is, with the first agent of the game. That is for games that hide something, since
    nobody else may say why he has played; and only where the game can search, and waits.
    """
    can_search = games.find(table.engine, "search") is not None
    if not (can_search and is_secret(table) and shown.frame_time is None):
        return None
    agents = agents_for(table.env, places)
    for name in table.asked:
        if name.removeprefix(SEARCH).partition(",")[0] in agents:
            return name_adviser(name)
    return name_adviser(agents[0]) if agents else None


class Thinker:
    """Collects the thoughts of the players and of an adviser beside them.

    Parameters
    ----------
    places : Places

    Attributes
    ----------
    on, opened : bool
        Whether thoughts are shown, and what is hidden.
    who : str or None
        The adviser; None where nobody advises.
    note : str
        Why the adviser by default does not advise; else empty.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self.on, self.opened = False, False
        self.who: str | None = None
        self.note = ""
        self._adviser: Player | None = None
        self._value: LaneValue | None = None
        self._note = ""  # why there is no value, or nothing else
        self._last: dict[str, Any] | None = None  # of the last decision, with the seat

    def choose(self, on: bool, who: str | None, opened: bool) -> None:
        """Choose what is shown."""
        self.on, self.who, self.opened = on, who, opened

    def sit(self, table: GameTable) -> None:
        """Sit down at a table.

        Raises
        ------
        FastEnvError
            If who is to think cannot sit there.
        """
        self._last, self._adviser, self._value, self._note = None, None, None, ""
        self.note = ""
        if self.on and self.who not in (None, PERSON):
            assert self.who is not None
            who = load(self.who, self._places, table.engine.game.bot_names)
            self._adviser = self._seat(who, table)
            begin_all(self._adviser, table.engine, 0)
            let_explain([self._adviser])
            if isinstance(who, Policy):
                name = short_name(self.who)
                self._value, self._note = find_lane_value(who, table.engine, name)

    def _seat(self, who: Seated, table: GameTable) -> Player:
        assert self.who is not None
        try:
            return make_player(who, table.engine)
        except ConfigError as error:
            name, self.who = short_name(self.who), None
            raise Refusal(
                f"{name} cannot think about this game: it has learnt {table.env} "
                "with other options. Begin a game with it as a player, then it can."
            ) from error

    def hear(self, game: GameSession) -> None:
        """Remember why the player whose turn it is decides as it does.

        What is known of a decision stays until more is known of another: bots give no reasons.
        """
        decision, table = game.consider(), game.table
        if decision is None or (decision.thought is None and decision.probabilities is None):
            return
        name = game.name_action
        reason = decision.explain(name)
        seat = table.names[int(game.seats[0])]
        if decision.thought is not None:
            searched = _describe_thought(decision.thought, name)
            self._last = {"seat": seat, "reason": reason, **searched}
        elif reason:
            self._last = {"seat": seat, "reason": reason}

    def message(self, game: GameSession, shown: Shown) -> dict[str, Any]:
        """Make the message of thoughts about the moment of a session."""
        table, engine, over = game.table, game.engine, game.over
        engine.refresh()
        open_to_all = self.opened or not is_secret(table)
        mine = not over and (open_to_all or game.waits)
        message: dict[str, Any] = {
            "kind": "thought",
            "who": self.who,
            "note": self.note,
            "seat": shown.seat,
            "mask": np.flatnonzero(engine.mask[0])[:MAX_NUMBERS].tolist() if mine else [],
            "actions": int(engine.num_actions),
            "observation": _list_observation(table) if mine else [],
            "info": _list_columns(engine.info, engine.spec.info_columns, engine.game)
            if mine
            else [],
            "terms": _list_columns(engine.info, engine.spec.term_columns, engine.game),
            "played": None,
            "advice": self._ask_adviser(game) if mine else None,
            "visits": shown.visits.to_list(),
            "insight": table.view.insight(engine, shown.row, shown.seat) if mine else {},
        }
        if self._last is not None and open_to_all:
            message["played"] = self._last
        return message

    def _ask_adviser(self, game: GameSession) -> dict[str, Any] | None:
        """Ask the adviser about the decision that is due."""
        adviser, engine, name = self._adviser, game.engine, game.name_action
        if adviser is None:
            return None
        decision = weigh(adviser, engine, value=self._value)
        decision.action = action = int(adviser.act(engine, np.zeros(1, np.int64))[0])
        decision.thought = get_thought(adviser)
        advice: dict[str, Any] = {
            "action": [action, name(action)],
            "value": None if decision.value is None else _to_number(decision.value),
            "note": self._note,
            "reason": decision.explain(name),
        }
        if decision.thought is not None:
            return {**advice, **_describe_thought(decision.thought, name)}
        if isinstance(adviser, Explains):
            advice["note"] = "Nothing was searched here: " + (
                "there is nothing to choose."
                if np.count_nonzero(engine.mask[0]) == 1
                else "this decision is left to who plays in the search. "
                "Its option decisions=all searches every one."
            )
        chances = decision.probabilities
        if chances is not None:
            legal = np.flatnonzero(engine.mask[0])
            order = legal[np.argsort(-np.nan_to_num(chances[legal]), kind="stable")][:MAX_ACTIONS]
            advice["probabilities"] = [
                [int(a), name(int(a)), _to_number(chances[a])]
                for a in order
                if np.isfinite(chances[a])
            ]
        return advice


def _describe_thought(thought: Thought, name: Callable[[int], str]) -> dict[str, Any]:
    """Return a thought of a search as JSON values, the best action first."""
    order = np.argsort(-thought.mean, kind="stable")[:MAX_ACTIONS]
    return {
        "chosen": int(thought.chosen),
        "milliseconds": round(float(thought.milliseconds), 3),
        "budget": thought.budget,
        "searched": [
            {
                "action": int(thought.actions[k]),
                "name": name(int(thought.actions[k])),
                "mean": _to_number(thought.mean[k]),
                "error": _to_number(thought.error[k]),
                "worlds": int(thought.worlds[k]),
                "wanted": _to_number(thought.wanted[k]),
            }
            for k in order
        ],
    }


def _to_number(value: Any) -> float | None:
    return round(float(value), 6) if np.isfinite(value) else None


def _list_columns(info: Any, names: tuple[str, ...], game: Any) -> list[list[Any]]:
    """Return name and value of columns of the lane."""
    columns: list[list[Any]] = []
    for name in names:
        if name in info:
            value = np.asarray(info[name][0])
            shown = game.shown(name, value) if value.ndim == 0 else value.tolist()
            columns.append([name, shown.item() if isinstance(shown, np.generic) else shown])
    return [[n, v.tolist() if isinstance(v, np.ndarray) else v] for n, v in columns]


def _list_observation(table: GameTable) -> list[dict[str, Any]]:
    """Return the parts of the observation: by the game's layout, or by its fields."""
    engine = table.engine
    seen = engine.obs[0]
    if engine.obs_dtype.names is not None:
        fields = engine.obs_dtype.fields
        return [
            _make_part(name, "", fields[name][1], seen[name]) for name in engine.obs_dtype.names
        ]
    blocks = table.view.blocks(engine)
    if not blocks:
        return [_make_part("observation", "", 0, seen)]
    flat = np.asarray(seen).ravel()
    return [
        _make_part(block.name, block.meaning, block.offset, flat[block.offset :][: block.length])
        for block in blocks
    ]


def _make_part(name: str, meaning: str, offset: int, values: Any) -> dict[str, Any]:
    array = np.asarray(values)
    flat = array.ravel()
    part = {"name": name, "meaning": meaning, "offset": offset, "shape": list(array.shape)}
    if array.size > MAX_NUMBERS:
        least, most, mean = float(flat.min()), float(flat.max()), float(flat.mean())
        return {**part, "summary": [round(x, 4) for x in (least, mean, most)]}
    return {**part, "values": [round(x, 4) for x in flat.astype(np.float64).tolist()]}
