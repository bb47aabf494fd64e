"""Training, evaluation and measurement: consumers of fastenv through its public API only.

Rooms: ``config``, ``values`` and ``presets`` (what to run), ``envs``, ``env_impl`` and ``seeds``
(engines, and where they begin), ``runs``, ``checkpoint``, ``writer``, ``export``, ``files``,
``logging``, ``boards`` and ``windows`` (what stays of a run), ``session``, ``loop``, ``finite`` and
``stats`` (a run, whoever trains), ``followers``, ``trackers``, ``curriculum``, ``gate``,
``sequential``, ``beta`` and ``certificates`` (what goes along with it), ``trainers``, ``ppo``,
``sb3``, ``hier``, ``selfplay``, ``ensemble`` and ``late_actions`` (who trains, and on what they are
offered), ``evaluation``, ``evaluate``, ``milestones``, ``protocol``, ``compare`` and ``over_seeds``
(how good it plays, after one training, in its course, and over several), ``replay`` (episodes to
play again), ``dashboard``, ``plots`` and ``report`` (to look at), ``bench``, ``benchmark_v9``,
``profile``, ``matrix``, ``machine`` and ``runs_md`` (how fast it is). ``train`` is the command that
runs.
"""

import os

__all__ = ["load_policy"]

# OpenMP reads these once, when torch is imported: workers that spin at barriers cost a busy machine
# most of its time, workers that sleep at each wake late. So they spin for as long as the next
# parallel loop is usually away, some 30 microseconds. Every entry point passes here first.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")


def __getattr__(name: str) -> object:
    """Import what users take from here when they do: it needs torch."""
    if name in __all__:
        from training.policies.load import load_policy

        return load_policy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
