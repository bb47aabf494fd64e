"""Trained networks as ONNX files, for programs without torch."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import fastenv
from training.nets.layout import storage
from training.players.export import refuse_taken
from training.players.trained import load, read_parameters
from training.run import files, registry
from training.run.folder import RunFolder
from training.run.options import require

_ROWS = 3  # of the example that is traced; any number but 0 and 1, which are taken for constants


class Actor(nn.Module):
    """A network that also chooses the best legal action.

    Parameters
    ----------
    net : nn.Module
        With ``logits(obs)`` or, if it is recurrent, ``step(obs, state=...)``.
    """

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net
        self.state_size = int(getattr(net, "state_size", 0))

    def forward(self, obs: Tensor, mask: Tensor, state: Tensor | None = None) -> tuple[Tensor, ...]:
        """Compute actions (n,), masked logits (n, A) and, of a recurrent network, states."""
        if state is None:
            logits, after = self.net.logits(obs), ()
        else:
            logits, _, *after = self.net.step(obs, state=state)
        logits = logits.masked_fill(mask == 0, -torch.inf)
        return logits.argmax(1), logits, *after


def export_onnx(
    run: RunFolder, folder: Path, name: str | None = None, member: int | None = None
) -> list[Path]:
    """Write the networks of a checkpoint as ``NAME.onnx``.

    Inputs are ``obs`` (as the environment shows it), ``mask`` (uint8, (n, A)) and, of a recurrent
    network, ``state`` (float32, (n, S), zero where an episode begins); outputs ``action`` (int64,
    (n,), the best legal one), ``logits`` (float32, (n, A), -inf where illegal) and ``next_state``.
    The number of rows is free. Metadata say what it was trained for.

    Parameters
    ----------
    run : RunFolder
    folder : Path
        Must not be there yet.
    name : str, optional
        Checkpoint; default the newest.
    member : int, optional
        Network of an ensemble, from 1 on; default the first.

    Returns
    -------
    list of Path
        ``policy.onnx``, or ``manager.onnx`` and ``worker.onnx``.

    Raises
    ------
    ImportError
        Without onnx or onnxscript; says what to install.
    RunError, CheckpointError, ConfigError
        See :func:`training.players.trained.load`; or ``folder`` is there already.
    """
    try:
        import onnx
        import onnxscript  # noqa: F401 (torch writes with it)
    except ImportError as error:
        raise ImportError(
            "ONNX files need onnx and onnxscript: pip install onnx onnxscript."
        ) from error
    refuse_taken(folder)
    trained = load(run, name, member)
    config, engine = run.config, trained.engine()
    own = read_parameters(trained.path, trained.member)
    nets = registry.load_trainer(config.trainer).load_nets(config, engine, own)
    for part, (_, engine) in nets.items():
        allowed = "plain numbers: ONNX files of Dict observations are not written"
        require(engine.obs_dtype.names is None, f"obs of {part}", engine.obs_dtype.names, allowed)
    folder.mkdir(parents=True)
    about = {"env": config.env, "env_options": json.dumps(dict(config.env_options))}
    about |= {"steps": str(trained.steps), "run": run.name, "fastenv": fastenv.__version__}
    for part, (net, engine) in nets.items():
        model = _trace(Actor(net.eval()), engine)
        onnx.helper.set_model_props(model, {**about, "network": part})
        onnx.checker.check_model(model)
        files.write_bytes(folder / f"{part}.onnx", model.SerializeToString())
    return [folder / f"{part}.onnx" for part in nets]


def _trace(actor: Actor, engine: Any) -> Any:
    """Trace the ONNX model of a network that takes the observations of an engine."""
    shape, dtype = storage(engine)
    example = [torch.zeros(_ROWS, *shape, dtype=dtype)]
    example.append(torch.ones(_ROWS, engine.num_actions, dtype=torch.uint8))
    names, results = ["obs", "mask"], ["action", "logits"]
    if actor.state_size:
        example.append(torch.zeros(_ROWS, actor.state_size))
        names.append("state")
        results.append("next_state")
    rows = {0: torch.export.Dim("n", min=1)}
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what torch itself will change
        logger.setLevel(logging.ERROR)
        try:
            program = torch.onnx.export(
                actor,
                tuple(example),
                input_names=names,
                output_names=results,
                dynamic_shapes=(rows,) * len(example),
                dynamo=True,
                verbose=False,
            )
        finally:
            logger.setLevel(level)
    assert program is not None
    return program.model_proto
