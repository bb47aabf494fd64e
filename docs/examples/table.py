"""Four players at one table of Skull King: ``python -m docs.examples.table [games]``.

A trained agent, two scripted players and one that draws any legal action, through PettingZoo. Run
it from the root of the checkout, where ``training`` and ``pretrained`` are.
"""

import sys

import numpy as np

import training
from fastenv.adapters.pettingzoo import aec_env
from fastenv.engine import rng_streams
from training.players.network import seat_policy
from training.players.player import begin_all, every_lane


def scripted(env, name, seed):
    """Return the choices of one of the game's own players."""
    streams = rng_streams(seed, 1)
    return lambda agent, seen: int(env.engine.bot_actions(name, streams)[0])


def trained(env, path, seed):
    """Return the choices of a trained agent, which sees the table as it did when it learned."""
    player = seat_policy(training.load_policy(path), env.engine)
    begin_all(player, env.engine, seed)
    return lambda agent, seen: int(player.act(env.engine, every_lane(env.engine))[0])


def anything(env, seed):
    """Return choices among all legal actions: what any policy of one's own looks like."""
    rng = np.random.default_rng(seed)
    return lambda agent, seen: int(rng.choice(np.flatnonzero(seen["action_mask"])))


def play(games):
    """Return the mean official points of the four players."""
    env = aec_env("SkullKingFlat-v0", num_players=4)
    players = {
        "player_0": trained(env, "pretrained/skullking-ppo", seed=0),
        "player_1": scripted(env, "heuristic", seed=1),
        "player_2": scripted(env, "rule_hard", seed=2),
        "player_3": anything(env, seed=3),
    }
    points = dict.fromkeys(players, 0.0)
    for game in range(games):
        env.reset(seed=game)
        for agent in env.agent_iter():
            seen, reward, terminated, truncated, _ = env.last()
            points[agent] += 10 * reward / games  # rewards are official points / 10
            env.step(None if terminated or truncated else players[agent](agent, seen))
    return points


if __name__ == "__main__":
    for name, mean in play(int(sys.argv[1]) if len(sys.argv) > 1 else 50).items():
        print(f"{name}: {mean:.0f} points a game")
