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

# OpenMP reads this once, when torch is imported: workers that spin at barriers cost a busy machine
# most of its time (docs of the packaging spec, section 7). Every entry point passes here first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
