"""What a type checker makes of the public surface: mypy reads this file with the sources."""

from typing import assert_type

import fastenv
import training
from fastenv import FastEnv, FastVectorEnv
from training.players.policy import Policy

env = fastenv.make("SkullKingWorker-v0", backend="fast")
assert_type(env, FastEnv)
vec = fastenv.make_vec("SkullKingWorker-v0", 4, backend="auto", autoreset_mode="same_step")
assert_type(vec, FastVectorEnv)
assert_type(training.load_policy("run"), Policy)
fastenv.make("SkullKingWorker-v0", backend="turbo")  # type: ignore[arg-type]
fastenv.make_vec("SkullKingWorker-v0", 4, autoreset_mode="never")  # type: ignore[arg-type]
