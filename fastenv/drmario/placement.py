"""Decisions that are placements, in plain Python (docs/drmario.md, 12).

>>> from fastenv.drmario.config import DrMarioConfig
>>> game = new_game(DrMarioConfig(game_seed=0x8988))
>>> game.reset(game.config.knobs_record()[0], seed=0)
>>> costs = game.costs()[0]
>>> min(costs), costs.index(min(costs))
(11, 45)
>>> game.step([45])
>>> game.tau, game.players[0].ev_lock_row
(47, 10)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastenv.drmario import reachability
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.planning import costs_for
from fastenv.drmario.player import MASK32, Player
from fastenv.drmario.reference import DrMario
from fastenv.drmario.tables import Reason


def new_game(config: DrMarioConfig, demo: Any = None) -> DrMario:
    """Return a game whose decisions are those of the configuration.

    Parameters
    ----------
    config : DrMarioConfig
    demo : ndarray, shape (1,), optional
        Tables of a demo, ``DEMO_DTYPE``.
    """
    return Placements(config) if config.placement else DrMario(config, demo)


class Placements(DrMario):
    """A game whose decisions are placements."""

    needs_action: list[int]
    tau: Any
    ep_frames: int
    done: int
    reason: int

    def costs(self) -> list[tuple[int, ...] | None]:
        """Return for each player the costs of the decision that is due; see :class:`DrMario`."""
        frame = self.frame
        return [costs_for(p, frame) if p.needs_decision() else None for p in self.players]

    # -- reset ---------------------------------------------------------------------------------

    def reset(self, knobs: Any, seed: int | None = None) -> None:
        """Start an episode, up to its first decision; see :meth:`DrMario.reset`."""
        super().reset(knobs, seed)
        while not self.decision_due():
            self.play([0] * len(self.players))
        for player in self.players:
            player.clear_events()
        self.note_needs()

    def decision_due(self) -> bool:
        """Tell whether any player has to decide."""
        return any(player.needs_decision() for player in self.players)

    def note_needs(self) -> None:
        """Note which players have to decide."""
        self.needs_action = [int(player.needs_decision()) for player in self.players]

    # -- a step (docs/drmario.md, 12.2) --------------------------------------------------------

    def step(self, actions: list[int]) -> None:
        """Take the placements that are due, and go on to the next decision; nothing at the end.

        Parameters
        ----------
        actions : list of int
            One a player; those of players without a decision are ignored.
        """
        if self.done:
            return
        costs = self.costs()
        for player, known, action in zip(self.players, costs, actions, strict=True):
            player.clear_events()
            player.ev_invalid = int(known is not None and known[action] == t.INFEASIBLE)
            player.decisions += int(self.versus and known is not None)
        if any(player.ev_invalid for player in self.players):
            self.refuse()
            return
        for player, known, action in zip(self.players, costs, actions, strict=True):
            if known is not None:
                self.decide(player, action, known[action])
        self.advance()
        self.end_step()

    def refuse(self) -> None:
        """Let nothing move: an action could not be reached."""
        taus = [1 if player.needs_decision() else self.since(player) for player in self.players]
        self.tau = taus if self.versus else taus[0]

    def decide(self, player: Player, action: int, cost: int) -> None:
        """Note what a player decided."""
        player.decided, player.decided_frame = player.reserve_index, self.frame
        player.plan_left, player.plan_action = cost, action
        player.ev_action, player.ev_cost = action, cost

    def since(self, player: Player) -> int:
        """Return the frames since a player's last decision."""
        return (self.frame - player.decided_frame) & MASK32

    def advance(self) -> None:
        """Let frames pass until a decision is due or the episode is over."""
        first, waited = self.players[0], 0
        script = self.script(first) if self.replay else b""
        while True:
            falling = any(player.plan_left for player in self.players)
            pressed = script[-first.plan_left] if self.replay and first.plan_left else 0
            self.play([pressed, 0])
            self.ep_frames += 1
            waited += not falling
            self.judge()
            if self.done or self.decision_due():
                return
            if waited >= self.config.max_wait_frames:
                self.done, self.reason = 2, int(Reason.TIMEOUT)
                return

    def script(self, player: Player) -> bytes:
        """Return the buttons of the chosen placement, one byte a frame."""
        return reachability.script(
            np.array(player.board, np.uint8),
            player.decided_frame & 1,
            player.gravity(),
            player.plan_action,
            extended=self.config.extended_inputs,
        )

    def end_step(self) -> None:
        """Measure, and note how long the step took and which players have to decide."""
        for player in self.players:
            player.measure()
        taus = [self.since(player) for player in self.players]
        self.tau = taus if self.versus else taus[0]
        self.note_needs()
