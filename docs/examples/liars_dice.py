"""Liar's Dice for two with one die each, whose highest face is wild.

In turn they bid how many of both dice show a face, each bid higher than the last; a wild die counts
as any face. Then one challenges, and wins if the bid was a lie. ``docs/tutorials/`` has the game
with more dice. ``liars_dice_kernels.py`` has the compiled twin.
"""

import numpy as np

from fastenv.game import GameSpec
from fastenv.options import check_integer
from fastenv.plain import PlainGame
from fastenv.rng import Rng

MAX_FACES, BOTS, CHALLENGE = 6, ("random",), 0
STATE_DTYPE = np.dtype(
    [
        ("rng", "u8", (4,)),
        ("bot_rng", "u8", (4,)),
        ("ep_return", "f8", (2,)),
        ("ep_length", "i4"),
        ("dice", "i4", (2,)),  # faces from 0
        ("bid", "i4"),  # the last one; 0 none
        ("said", "i4", (2 * MAX_FACES,)),  # who made each bid: 0 nobody, 1 or 2
        ("winner", "i4"),  # 0 nobody, 1 or 2
        ("done", "i1"),
        ("needs_action", "u1", (2,)),
    ],
    align=True,
)
INFO_DTYPE = np.dtype([("winner", "i4")], align=True)
SHARED_DTYPE = np.dtype([("faces", "i4")], align=True)


class Dice:
    """One game: one attribute for each field of the row."""

    __slots__ = (*STATE_DTYPE.names, "faces")

    def __init__(self, faces):
        self.faces = faces
        self.rng, self.bot_rng, self.dice = Rng(), [0] * 4, [0, 0]
        self.clear()

    def reset(self, seed=None):
        """Start an episode: drawn are the generator of the bots, then the dice."""
        if seed is not None:
            self.rng = Rng(seed)
        self.clear()
        self.bot_rng = [self.rng.next() for _ in range(4)]
        self.dice = [self.rng.bounded(self.faces) for _ in range(2)]

    def clear(self):
        """Set what every episode begins with."""
        self.ep_return, self.ep_length = [0.0, 0.0], 0
        self.bid = self.winner = self.done = 0
        self.said, self.needs_action = [0] * 2 * MAX_FACES, [1, 0]

    def legal_actions(self, agent):
        """Return the bids above the last, and a challenge to it; 0 if the agent does not act."""
        if not self.needs_action[agent]:
            return [CHALLENGE]
        bids = range(self.bid + 1, 2 * self.faces + 1)
        return [CHALLENGE, *bids] if self.bid else [*bids]

    def step(self, actions):
        """Bid, or challenge and win if the bid was a lie. An illegal action loses."""
        agent = 0 if self.needs_action[0] else 1
        action = actions[agent]
        if action > self.bid:
            self.bid, self.said[action - 1] = action, 1 + agent
            self.needs_action = [agent, 1 - agent]
            return
        won = action == CHALLENGE and self.bid > 0 and not self.is_true()
        self.winner = 1 + (agent if won else 1 - agent)
        self.done, self.needs_action = 1, [0, 0]

    def is_true(self):
        """Return whether the dice show what the last bid says."""
        quantity, face = divmod(self.bid - 1, self.faces)
        return sum(die in (face, self.faces - 1) for die in self.dice) > quantity

    def resample(self, agent, rng):
        """Roll the other's die anew; nobody knows the luck to come."""
        self.dice[1 - agent] = rng.bounded(self.faces)
        self.rng, self.bot_rng = Rng(rng.next()), [rng.next() for _ in range(4)]


class DiceGame(PlainGame):
    """Liar's Dice, configured: how many faces a die has."""

    def __init__(self, faces=6):
        self.faces = check_integer("faces", faces, 2, MAX_FACES)
        self.shared = np.array([(self.faces,)], SHARED_DTYPE)
        spec = GameSpec(
            num_actions=1 + 2 * self.faces,  # a challenge, and the bids
            num_agents=2,
            order="turns",
            opponent="random",
            obs_shape=(5 * self.faces,),
            obs_bounds=(0.0, 1.0),
            state_dtype=STATE_DTYPE,
            info_dtype=INFO_DTYPE,
            info_labels={"winner": ("nobody", "first", "second")},
            kernel_module="fastenv.examples.liars_dice_kernels",
            core_module="fastenv.examples.liars_dice_kernels",
            render_modes=("ansi",),
            hidden=True,
            mixed=True,
            enumerable=True,
        )
        limits = {"dice": (0, self.faces - 1), "bid": (0, 2 * self.faces), "said": (0, 2)}
        limits |= {"winner": (0, 2), "done": (0, 1), "needs_action": (0, 1)}
        super().__init__(spec, limits, BOTS)

    def decisions(self, rows):
        """Return the decisions of each agent: they act in turn, the first one first."""
        return (rows["ep_length"][:, None] + np.array([1, 0])) // 2

    def create(self):
        """Return a game."""
        return Dice(self.faces)

    def encode_obs(self, game, out):
        """Write own die, own bids and those of the other."""
        faces, out[...] = self.faces, 0
        for agent in range(2):
            out[agent, game.dice[agent]] = 1
            for bid, who in enumerate(game.said[: 2 * faces]):
                if who:
                    out[agent, faces + 2 * faces * (who != 1 + agent) + bid] = 1

    def reward(self, game):
        """Return 1 for the winner and -1 for the other; 0 until the end."""
        first = (game.winner == 1) - (game.winner == 2)
        return (float(first), float(-first)), ((), ())

    def info(self, game):
        """Return the winner."""
        return (game.winner,)

    def bot_action(self, game, params, agent, obs, mask, rng):
        """Return any legal action."""
        legal = game.legal_actions(agent)
        return legal[rng.bounded(len(legal))]

    def resample(self, game, agent, rng):
        """Resample what an agent cannot know."""
        game.resample(agent, rng)

    def core(self):
        """Return reset, step and the like, compiled by Numba."""
        from fastenv.examples.liars_dice_kernels import core

        return core()

    def action_name(self, action, row=None):
        """Name an action."""
        quantity, face = divmod(action - 1, self.faces)
        return f"bid {quantity + 1} x {face + 1}" if action else "challenge"

    def render_seat(self, row, seat, mode):
        """Return own die and all bids."""
        other = row["dice"][1 - seat] + 1 if row["done"] else "?"
        bids = (self.action_name(k + 1) for k in np.flatnonzero(row["said"]))
        return f"you {row['dice'][seat] + 1}  other {other}\n{', '.join(bids) or 'no bid yet'}"


make_game = DiceGame  # the registry calls it with the options of ``make``
