"""Training, evaluation and measurement: consumers of fastenv through its public API only.

Rooms: ``config`` and ``presets`` (what to run), ``envs`` and ``env_impl`` (engines), ``runs``,
``checkpoint``, ``writer``, ``export``, ``logging`` and ``windows`` (what stays of a run),
``session`` and ``loop`` (a run, whoever trains), ``followers``, ``trackers``, ``curriculum`` and
``gate`` (what goes along with it), ``ppo``, ``sb3``, ``hier``, ``selfplay``, ``ensemble`` and
``late_actions`` (the trainers and what they are offered), ``evaluation``, ``evaluate``,
``evaluations``, ``milestones`` and ``protocol`` (how good it plays, after one training, in its
course, and over several), ``replay`` (episodes to play again), ``bench``, ``benchmark_v9``,
``profile`` and ``matrix`` (how fast it is).
"""

import os

# OpenMP reads this once, when torch is imported: workers that spin at barriers cost a busy machine
# most of its time (docs of the packaging spec, section 7). Every entry point passes here first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
