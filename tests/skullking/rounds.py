"""Rounds of Worker lanes, played by the engine and cut out of a time-major rollout."""

from types import SimpleNamespace

import numpy as np

import fastenv
from fastenv.skullking.layout import layout
from fastenv.skullking.relabel import WorkerStep
from fastenv.skullking.tables import Tier

TABLES = [
    {},
    {"num_players": 2, "tigress": "agent"},
    {"num_players": 3, "tigress": "agent", "goal_bonus": 0.0, "needed_after": True},
    {"num_players": 5, "tigress": "agent", "obs_ext": "memory", "agent_seat": "rotate"},
    {"num_players": 6, "tigress": "agent", "needed_after": True, "goal_bonus": 1.7},
    {"num_players": 4, "tigress": "agent", "abilities": "auto", "opponents": "rule_hard"},
]


def engine_of(lanes, table):
    options = {"invalid_action": "raise", "opponents": "random", **table}
    return fastenv.make_engine("SkullKingWorker-v0", lanes, **options)


def play(engine, steps, seed, reset=True):
    """Return a time-major rollout of random play, with the columns that hindsight needs.

    The cards are drawn lane by lane in advance, so that two rollouts of one seed choose the same.
    """
    if reset:
        engine.reset_many(seeds=seed)
    draws = np.random.default_rng(seed).random((steps, engine.num_envs))
    n = engine.num_envs
    out = SimpleNamespace(
        rows=np.empty((steps, n), engine.spec.state_dtype),
        obs=np.empty((steps + 1, n, *engine.obs_shape), np.float32),
        action=np.empty((steps, n), np.int64),
        reward=np.empty((steps, n), np.float32),
        done=np.empty((steps, n), np.bool_),
        allies_on_track=np.empty((steps, n), np.int32),
        ended_cards=np.empty((steps, n), np.int32),
        ended_bid=np.empty((steps, n), np.int32),
        ended_won=np.empty((steps, n), np.int32),
    )
    out.obs[0] = engine.obs
    for t in range(steps):
        legal = engine.mask.cumsum(1)
        choice = np.floor(draws[t] * legal[:, -1]) + 1
        actions = (legal >= choice[:, None]).argmax(1).astype(np.int32)
        out.rows[t] = engine.get_states()
        engine.step_many(actions)
        out.obs[t + 1], out.reward[t] = engine.obs, engine.reward
        out.action[t] = actions
        out.done[t] = (engine.terminated | engine.truncated) != 0
        for name in ("allies_on_track", "ended_cards", "ended_bid", "ended_won"):
            column = np.where(out.done[t], engine.final_info[name], engine.info[name])
            getattr(out, name)[t] = column
    return out


def finished_rounds(rollout, first_only=False, num_players=4, **_options):
    """Return the steps of every round that begins and ends within the rollout, lane by lane."""
    blocks = {block.name: block for block in layout(Tier.WORKER, num_players)}
    status = blocks["status"].offset
    won, left = (np.rint(10 * rollout.obs[..., status + k]).astype(int) for k in (1, 3))
    tricks = np.rint(10 * rollout.obs[..., blocks["progress"].offset + 2]).astype(int)
    pending = rollout.obs[..., blocks["tigress_pending"].offset] != 0
    rounds = []
    for lane in range(rollout.done.shape[1]):
        whole = tricks[0, lane] == 0 and not pending[0, lane]
        steps = []
        for t in range(len(rollout.done)):
            done = bool(rollout.done[t, lane])
            after = rollout.ended_won[t, lane] if done else won[t + 1, lane]
            ended = done or left[t + 1, lane] < left[t, lane]
            fresh = t == 0 or rollout.done[t - 1, lane]
            step = WorkerStep(
                obs=rollout.obs[t, lane],
                reward=float(rollout.reward[t, lane]),
                trick_won=bool(after > won[t, lane]) if ended else None,
                allies_on_track=0 if fresh else int(rollout.allies_on_track[t - 1, lane]),
                ended_bid=int(rollout.ended_bid[t, lane]) if done else None,
            )
            steps.append(step)
            if done:
                rounds += [steps] if whole else []
                steps, whole = [], True
                if first_only:
                    break
    return rounds
