"""Rows that compiled functions move, and the reference's rows of the same games."""

import numpy as np

from fastenv.drmario import position, state
from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.placement import new_game
from fastenv.game import GameSpec
from fastenv.memory import aligned


class CompiledRows:
    """Rows of a configuration, without observations.

    Parameters
    ----------
    config : DrMarioConfig
    knobs : sequence of records, optional
        One a lane; default one lane with the knobs of the configuration.
    """

    def __init__(self, config, knobs=None):
        from fastenv._batch import BatchLoop
        from fastenv.drmario._core import FRAMES, PLACEMENTS
        from fastenv.paths import as_compiled

        knobs = config.knobs_record() if knobs is None else knobs
        n, agents = len(knobs), config.agents
        self.shared = state.shared_record(config.rules_record(), config.demo_record())
        dtype = state.state_dtype(agents, config.stack)
        spec = GameSpec(
            num_actions=t.NUM_PLACEMENTS if config.placement else t.NUM_BUTTONS,
            num_agents=agents,
            state_dtype=dtype,
            tail=("stack",) if config.stack > 1 else (),
            knobs_dtype=state.KNOBS_DTYPE,
            derived_dtype=state.derived_dtype(agents) if config.placement else None,
            bot_dtype=state.BOT_DTYPE,
        )
        spec.check()

        class Shown:
            def __init__(self, shared):
                self.spec, self.shared = spec, shared

        table = PLACEMENTS[agents] if config.placement else FRAMES[agents]
        core = as_compiled(Shown(self.shared), table, "reset", "step")
        self.rows, self.actions = aligned(n, dtype), np.zeros((n, agents), np.int32)
        self.all = np.ones(n, np.uint8)
        self.derived = aligned(n, spec.derived_dtype) if config.placement else None
        self.loop = BatchLoop(spec, core, None, self.rows, knobs, self.derived, self.shared)

    def reset(self, seeds=None):
        """Start an episode in every lane."""
        self.loop.reset(self.all, None if seeds is None else np.asarray(seeds, np.uint64))

    def costs(self, player=0):
        """Return the costs of placements of a player, shape (n, 512)."""
        return self.derived["players"]["costs"][:, player]

    def load(self):
        """Compute what follows from rows that were written from outside."""
        self.loop.derive(self.all)

    def step(self, actions):
        """Take a step in every lane."""
        self.actions[:] = np.reshape(actions, self.actions.shape)
        self.loop.step(self.actions, self.all)


class Scripts(CompiledRows):
    """Lanes in which a pill is about to fall, for scripts of buttons.

    Parameters
    ----------
    lanes : int
        As many scripts are played side by side.
    """

    def __init__(self, lanes=2048):
        config = DrMarioConfig(placement=False)
        super().__init__(config, np.repeat(config.knobs_record(), lanes))
        tables = self.shared["tables"]
        tables["gravity"], tables["speed_bases"] = np.arange(len(t.GRAVITY)), 0
        self.reset(range(lanes))
        players = self.rows["players"]
        players["mode"], players["next_action"] = t.Mode.PLAYING, t.Next.FALLING
        players["intro_wait"] = 0
        self.begin = self.rows.copy()

    def locked(self, boards, parities, gravities, buttons, lengths):
        """Return the action that every script locks as, -1 where not in its last frame."""
        found = np.empty(len(boards), int)
        for first in range(0, len(boards), len(self.rows)):
            part = slice(first, first + len(self.rows))
            given = (column[part] for column in (boards, parities, gravities, buttons, lengths))
            found[part] = self._locked(*given)
        return found

    def _locked(self, boards, parities, gravities, buttons, lengths):
        self.rows[:], n = self.begin, len(boards)
        rows, select = self.rows[:n], np.zeros_like(self.all)
        players = rows["players"][:, 0]
        players["board"], players["speed_ups"], rows["frame"] = boards, gravities, parities
        for frame in range(lengths.max(initial=0)):
            select[:n] = lengths > frame
            self.actions[:n, 0] = buttons[:, frame]
            self.loop.step(self.actions, select)
        rot = players["ev_lock_rot"].astype(int)
        row, col = players["ev_lock_row"] + (rot == 3), players["ev_lock_col"] + (rot == 2)
        # events are of the last frame alone
        return np.where(players["ev_locks"] == 1, -rot % 4 * 128 + (15 - row) * 8 + col, -1)


def reference_row(game):
    """Return the row of a reference game."""
    agents = len(game.players)
    return np.frombuffer(position.pack(game), state.state_dtype(agents, game.config.stack))[0]


def assert_same_row(got, game, where=""):
    """Compare a row with that of a reference game, field by field, then as bytes."""
    wanted = reference_row(game)
    if got.tobytes() == wanted.tobytes():
        return
    for name in wanted.dtype.names:
        if name == "players":
            for k, (ours, theirs) in enumerate(zip(got[name], wanted[name], strict=True)):
                for field in theirs.dtype.names:
                    np.testing.assert_array_equal(
                        ours[field], theirs[field], err_msg=f"{where}: player {k}: {field}"
                    )
        else:
            np.testing.assert_array_equal(got[name], wanted[name], err_msg=f"{where}: {name}")
    raise AssertionError(f"{where}: bytes between the fields differ")


def played(config, knobs, seed):
    """Return a reference game that has been reset."""
    game = new_game(config, config.demo_record() if config.demo is not None else None)
    game.reset(knobs, seed)
    return game
