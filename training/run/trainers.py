"""The trainers a run can name, each in a module with the same functions.

``train(run, resume) -> Outcome``; ``check(config, engine)`` refuses what cannot be trained here;
``identity(run, engine)`` is what a checkpoint must share with a run to be played;
``load_logits(config, engine, parameters)`` is the network as a function, to play with, of
observations and, if it has one, of its state (:class:`training.nets.actor_critic.RecurrentLogits`).
``load_nets``, with the same arguments, is each network by its name, as a module with
``logits(obs)`` or, with a state, ``step(obs, state=...)``, and an engine that shows what it sees.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "native": "training.ppo.run",
    "sb3": "training.sb3.run",
    "hier": "training.hier.run",
    "ensemble": "training.ensemble.run",
    "dqn": "training.dqn.run",
    "rllib": "training.rllib.run",
}


def module_of(trainer: str) -> Any:
    """Return the module of a trainer; only then what it needs is imported.

    Parameters
    ----------
    trainer : {"native", "sb3", "hier", "ensemble", "dqn", "rllib"}

    Raises
    ------
    ImportError
        If it needs a package that is not there; says which extra has it.
    """
    try:
        return import_module(_MODULES[trainer])
    except ModuleNotFoundError as error:
        if trainer == "sb3" and error.name in ("stable_baselines3", "sb3_contrib"):
            raise ImportError(
                "trainer='sb3' needs Stable-Baselines3: pip install '.[sb3]', or choose "
                "trainer='native'."
            ) from error
        raise
