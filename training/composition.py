"""The composition of training: tables of its games, trainers, commands and shared functions.

The packages import one way, as ``docs/explanation/design.md`` says. Where a lower one needs what a
higher one has, such as the game or the trainer that a run names, it asks a registry, which is
filled from here. :mod:`training` does that when it is imported, so that commands, spawned workers,
those of Ray and tests find the same.

An entry is ``module:name``, or a module alone, and is imported when it is asked for, not before. A
new game or trainer is entered here and in no other module of :mod:`training`.
"""

from __future__ import annotations

from training.run import registry

# By environment id.
GAMES = {
    "SkullKingFlat-v0": "training.games.skullking:FLAT",
    "SkullKingManager-v0": "training.games.skullking:MANAGER",
    "SkullKingWorker-v0": "training.games.skullking:WORKER",
    "SkullKingAbility-v0": "training.games.skullking:ABILITY",
    "Prospector-v0": "training.games.prospector:PROSPECTOR",
    "DrMarioPlacement-v0": "training.games.drmario:PLACEMENT",
    "DrMarioFrame-v0": "training.games.drmario:FRAME",
    "DrMarioVersus-v0": "training.games.drmario:VERSUS",
    "DrMarioVersusFrame-v0": "training.games.drmario:VERSUS_FRAME",
    "GameBoyPixels-v0": "training.games.gameboy:PIXELS",
    "GameBoyGoal-v0": "training.games.gameboy:GOAL",
    "GameBoyOverworld-v0": "training.games.gameboy:OVERWORLD",
    "LanternWalk-v0": "training.games.gameboy:LANTERN_WALK",
    "GameBoyLink-v0": "training.games.gameboy:LINK",
}

# What `python -m training benchmark --only` measures; all but the first are in a checkout alone.
SUITES = {
    "configs": "training.bench.configs:SUITE",
    "trainers": "benchmarks.trainers:SUITE",
    "bars": "benchmarks.bars:SUITE",
    "training": "benchmarks.training:SUITE",
    "flags": "benchmarks.flags:SUITE",
    "views": "benchmarks.views:SUITE",
    "replay": "benchmarks.replay:SUITE",
    "scale": "benchmarks.scale:SUITE",
    "search": "benchmarks.search:SUITE",
    "foreign": "benchmarks.foreign:SUITE",
}

# Options and module of each trainer.
TRAINERS = {
    "native": ("training.ppo.options:NativeRun", "training.ppo.run"),
    "expert": ("training.expert.options:ExpertRun", "training.expert.run"),
    "sb3": ("training.sb3.options:SB3Run", "training.sb3.run"),
    "hier": ("training.apps.skullking.hier.options:HierRun", "training.apps.skullking.hier.run"),
    "ensemble": ("training.ensemble.options:EnsembleRun", "training.ensemble.run"),
    "dqn": ("training.dqn.options:DQNRun", "training.dqn.run"),
    "rllib": ("training.rllib.options:RLlibRun", "training.rllib.run"),
}
# What to install for a trainer, by the module that could not be imported.
STABLE_BASELINES = "Stable-Baselines3: pip install '.[sb3]'"
PACKAGES = dict.fromkeys(("stable_baselines3", "sb3_contrib"), STABLE_BASELINES)

# What stands behind `python -m training`: commands and their further parts, in a line each.
COMMANDS = {
    "train": ("train an agent, or resume a run", "training.train:main"),
    "evaluate": ("measure how agents and bots play", "training.evaluate:main"),
    "compare": ("compare training options over seeds", "training.compare:main"),
    "compare protocol": (
        "run the benchmark of a game over training seeds",
        "training.games.prospector.protocol:main",
    ),
    "compare milestones": (
        "measure steps and time to the milestones of a game",
        "training.commands.milestones:main",
    ),
    "sweep": ("search for better training options", "training.sweep:main"),
    "report": ("write a page that compares runs", "training.report:main"),
    "exploit": ("train best responses to an agent", "training.exploit:main"),
    "watch": ("watch an agent or a bot play", "training.watch:main"),
    "watch replay": ("play recorded episodes and verify them", "training.commands.replay:main"),
    "play": ("play against trained agents and bots", "training.play:main"),
    "studio": ("play, watch and inspect games in the browser", "training.commands.studio:main"),
    "export": ("export a trained agent as a small folder", "training.export:main"),
    "benchmark": ("measure speed", "training.benchmark_v9:main"),
    "benchmark profile": (
        "measure where the time goes, mode by mode",
        "training.commands.profile:main",
    ),
    "benchmark matrix": ("find the fastest of many settings", "training.commands.matrix:main"),
    "benchmark vectorised": (
        "compare with Gymnasium's vector classes",
        "training.commands.vectorised:main",
    ),
    "benchmark gpu-check": (
        "test and time a CUDA device (untested)",
        "training.commands.gpu_check:main",
    ),
}
# The same of programs over one game.
PROGRAMS = {
    "evaluator": (
        "train and compare evaluators of positions in Dr. Mario",
        "training.apps.drmario.evaluator.command:main",
    ),
    "reader": (
        "train a network that reads camera frames of Dr. Mario",
        "training.apps.drmario.reader.command:main",
    ),
    "values": (
        "train the value network of the search in Skull King",
        "training.apps.skullking.fit_values:main",
    ),
    "evaluate seeds": (
        "evaluate on the seed registry of Dr. Mario",
        "training.apps.drmario.seeds:main",
    ),
    "evaluate fastest": (
        "search for the fastest clears in Dr. Mario",
        "training.apps.drmario.fastest:main",
    ),
}

# By command, its default environment.
DEFAULT_ENVS = {
    "train": "SkullKingWorker-v0",
    "bots": "Prospector-v0",
    "play": "SkullKingFlat-v0",
    "vectorised": "DrMarioPlacement-v0",
}

# Functions that lower packages call.
FUNCTIONS = {
    "seating": "training.selfplay.opponents:prepare_seats",
    "opponents": "training.selfplay.opponents:check",
    "train": "training.callbacks.start:train",
    "foreign": "training.foreign.games:find",
    "foreign record": "training.foreign.games:RECORD",
    "foreign modules": "training.foreign.games:modules_of",
    "search": "training.search.agent:load",
    "searching": "training.search.agent:searching",
    "benchmark skullking whole_games": "training.apps.skullking.pair_benchmark:play_games",
    "benchmark skullking two_tiers": "training.apps.skullking.pair_benchmark:measure",
    "benchmark gameboy frames": "training.games.gameboy.frames:frames_of",
    "gpu check": "benchmarks.gpu:run",
}


def compose() -> None:
    """Fill the registries."""
    registry.GAMES.update(GAMES)
    registry.SUITES.update(SUITES)
    for trainer, (options, module) in TRAINERS.items():
        registry.OPTIONS[trainer] = options
        registry.TRAINERS[trainer] = module
    registry.PACKAGES.update(PACKAGES)
    for commands, table in ((registry.COMMANDS, COMMANDS), (registry.PROGRAMS, PROGRAMS)):
        commands.update({name: registry.Command(*entry) for name, entry in table.items()})
    registry.DEFAULT_ENVS.update(DEFAULT_ENVS)
    registry.FUNCTIONS.update(FUNCTIONS)
