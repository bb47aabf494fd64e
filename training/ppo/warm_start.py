"""Warm start: a training begins with the parameters of another run (``native.warm_start``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import Tensor, nn

from fastenv.errors import ConfigError, show
from training.ppo.options import ActorCriticRun
from training.run import checkpoint
from training.run.engine import Engine


def load_first_parameters(config: ActorCriticRun, engine: Engine, net: nn.Module) -> None:
    """Give a network the parameters of the policy of the run that ``native.warm_start`` names.

    Where they have none of the value, the network keeps its own.

    Parameters
    ----------
    config : ActorCriticRun
    engine : Engine
    net : ActorCritic

    Raises
    ------
    ConfigError
        If there is no such run, or its newest checkpoint is damaged, of another environment, of
        another network or of other layers.
    """
    path, own = str(config.native.warm_start), net.state_dict()
    where = f"native.warm_start={show(path)} is not possible: "
    same = {**checkpoint.identity_of(config.env, engine), "network": config.network}
    try:
        saved = checkpoint.load_newest(Path(path) / "checkpoints", same, lambda _: None)
    except checkpoint.CheckpointError as error:
        raise ConfigError(f"{where}{error}") from error
    if saved is None:
        raise ConfigError(f"{where}it must be the folder of a run that has a checkpoint.")
    parameters: dict[str, Any] = saved.model["policy"]
    for name in [*own, *(name for name in parameters if name not in own)]:
        if name not in parameters and name.startswith(checkpoint.VALUE):
            continue
        theirs, ours = _format_shape(parameters.get(name)), _format_shape(own.get(name))
        if theirs != ours:
            raise ConfigError(
                f"{where}its network has other layers ({name} is {theirs}, here it is {ours})."
            )
    net.load_state_dict({**own, **parameters})


def _format_shape(parameter: Tensor | None) -> str:
    return "missing" if parameter is None else " x ".join(map(str, parameter.shape)) or "a number"
