"""Episodes on an engine, for tests."""

from training.evaluation.evaluation import Evaluation, play


def play_episodes(engine, make, count, first, limit=100_000, name="x", keep_actions=False):
    """Return the results of a player in episodes with the seeds from ``first`` on."""
    seeds = range(first, first + count)
    plan = Evaluation("episodes", engine.game.env_id, seeds=seeds, max_steps=limit)
    return play(plan.by({name: make}), engine, keep_actions=(name,) if keep_actions else ())
