"""Training, evaluation and measurement: consumers of fastenv through its public API only.

Rooms: ``config`` and ``presets`` (what to run), ``envs`` (engines), ``runs``, ``checkpoint`` and
``logging`` (what stays of a run), ``sb3`` (the stock trainer), ``matches``, ``goals`` and
``evaluate`` (how good it plays), ``bench`` and ``benchmark_v9`` (how fast it is).
"""

import os

# OpenMP reads this once, when torch is imported: workers that spin at barriers cost a busy machine
# most of its time (docs of the packaging spec, section 7). Every entry point passes here first.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
