"""Train with the native trainer (:mod:`training.ppo.trainer`)."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fastenv import BatchEngine
from training.callbacks.run_callbacks import run_training
from training.nets import actor_critic as policy
from training.nets.actor_critic import ActorCritic, Logits, RecurrentLogits
from training.nets.layout import obs_layout
from training.nets.precision import check as check_precision
from training.nets.precision import choose_device
from training.ppo.auxiliary import Auxiliary
from training.ppo.options import ActorCriticRun
from training.ppo.trainer import PPOTrainer
from training.run import checkpoint, envs, games
from training.run.checkpoint import Checkpoint
from training.run.determinism import be_deterministic
from training.run.engine import Engine, OnStep
from training.run.envs import Lanes
from training.run.finite import check_parameters
from training.run.folder import RunFolder
from training.run.learner import TrainerLearner, get_shared_arguments
from training.run.loop import Loop
from training.run.ranks import SINGLE_RANK, Ranks
from training.run.session import Outcome, Snapshot, torch_threads
from training.selfplay import league
from training.selfplay.league import League

# Options of the section ``native`` that shape the network.
_SHAPE = ("trunk", "heads", "attention", "recurrent", "recurrent_size")


def make_lanes(config: ActorCriticRun) -> Lanes:
    """Return the engine of a run, with this rank's share of the lanes."""
    share = config.share_of(Ranks.from_environment().size)
    return envs.make_lanes(share)


def serve_first_rank(config: ActorCriticRun) -> None:
    """Train as one of torchrun's other ranks, until the first rank ends."""
    torch.set_num_threads(torch_threads(config))
    be_deterministic(config.deterministic)
    learner = NativeLearner(config)
    try:
        learner.serve()
    finally:
        learner.close()


def train(run: RunFolder, lanes: Lanes, resume: bool = False) -> Outcome:
    """Train a run on its lanes; see :func:`training.run.session.run_training`."""
    return run_training(run, resume, lambda: NativeLearner(run.config, lanes, run.path), identity)


class NativeLearner(TrainerLearner):
    """:class:`PPOTrainer` on the engines of a run; see :class:`training.run.session.Learner`.

    Parameters
    ----------
    config : ActorCriticRun
    given : Lanes, optional
        What :func:`make_lanes` returns for it; default new ones.
    folder : Path, optional
        Of the run; self-play keeps its pool there, and without it there is none.
    """

    trainer: PPOTrainer
    _config: ActorCriticRun

    def __init__(
        self, config: ActorCriticRun, given: Lanes | None = None, folder: Path | None = None
    ) -> None:
        super().__init__(config)
        self.ranks = Ranks.from_environment()
        given = given or make_lanes(config)
        self.engines: list[Engine] = list(given.engines)
        self.backend = given.backend
        self.ranks.join()
        self.ranks.share_knobs(self.engines)
        self.league: League | None = None
        if config.selfplay is not None and folder is not None:
            engine = given.engines[0]
            assert isinstance(engine, BatchEngine)  # its other opponents are bots
            self.league = League(config, folder, self._new_net)
            self.engines = [self.league.seat(engine, envs.stream_seed(config.seed, "explore"))]
        self.trainer = self.build(config, self._step_hook)

    def facts(self) -> dict[str, Any]:
        """Return what the summary says of network, lanes and ranks."""
        return {**super().facts(), "ranks": self.ranks.size}

    def build(self, config: ActorCriticRun, on_step: OnStep) -> PPOTrainer:
        """Return the trainer as the config asks, with all generators seeded."""
        return build(config.share_of(self.ranks.size), self.engines[0], on_step, self.ranks)

    def _new_net(self) -> ActorCritic:
        return ActorCritic(obs_layout(self.engines[0]), self._config.ppo, self._config.native)

    def learn(self, loop: Loop) -> None:
        """Train to the end, or until the loop says to stop."""
        self._step_hook.loop, trainer = loop, self.trainer
        if loop.steps == 0 and self._config.native.warm_start is not None:
            self.ranks.send("warm_start")
            self._warm_start()
        while loop.steps < self._config.total_steps:
            if not loop.begin_iteration():
                return
            if self.league is not None:
                self.league.begin_iteration(loop.steps, trainer.net)
            self.ranks.send("iterate")
            found = trainer.iterate()
            loop.now = trainer.steps  # of all ranks; the loop has seen the lanes of this one
            said = {} if self.league is None else self.league.end_iteration(trainer.steps)
            loop.end_iteration({**found["train"], **said}, found["phases"])
        loop.finish()

    def _warm_start(self) -> None:
        first = first_parameters(self._config, self.engines[0], self.trainer.net)
        self.trainer.net.load_state_dict(first)

    def snapshot(self) -> Snapshot:
        """Return everything that decides how the run goes on.

        Raises
        ------
        TrainingError
            If a parameter is not finite: a checkpoint of it would be of no use.
        """
        check_parameters(self.trainer.net)
        self.ranks.send("snapshot")
        state = gather_state(self.ranks, self.trainer.state_dict())
        return Snapshot(
            model=state["model"],
            trainer={
                "counters": state["counters"],
                "ranks": self.ranks.size,
                "selfplay": None if self.league is None else self.league.state_dict(),
            },
            states=state["rows"],
            arrays=state["arrays"],
        )

    def restore(self, saved: Checkpoint) -> None:
        """Put a snapshot back; as many ranks as have saved it must be there."""
        if self.league is not None:
            self.league.load_state_dict(saved.trainer["selfplay"], saved.steps)
        state = {
            "model": saved.model,
            "counters": saved.trainer["counters"],
            "rows": saved.rows,
            "arrays": saved.arrays,
        }
        ranks = int(saved.trainer.get("ranks", 1))
        if ranks != self.ranks.size:
            raise ValueError(
                f"it continues with as many ranks as have saved it, {ranks}, and here it is "
                f"{self.ranks.size} (torchrun --nproc-per-node)"
            )
        self.ranks.send("restore", path=str(saved.path))
        self.trainer.load_state_dict(get_rank_state(self.ranks, state))

    def reset_lanes(self) -> None:
        """Begin a new episode in every lane, at a boundary."""
        self.ranks.send("reset")
        super().reset_lanes()

    def serve(self) -> None:
        """Carry out the commands of the first rank until it ends."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_IGN)  # the first decides when it is over
        while True:
            what, details = self.ranks.receive()
            if what == "end":
                return
            self._do(what, details)

    def _do(self, what: str, details: dict[str, Any]) -> None:
        if what == "iterate":
            self.trainer.iterate()
        elif what == "warm_start":
            self._warm_start()
        elif what == "snapshot":
            gather_state(self.ranks, self.trainer.state_dict())
        elif what == "restore":
            self.restore(checkpoint.load(Path(details["path"]), {}))
        elif what == "reset":
            self.reset_lanes()
        elif what == "configure":
            engine = self.engines[details["engine"]]
            engine.configure(details["name"], details["value"], details["idx"])

    def close(self) -> None:
        """Part from the other ranks."""
        self.ranks.leave()


# What each rank has of its own in a checkpoint, beside its lanes.
_OWN = ("sampler", "minibatch", "state")


def gather_state(ranks: Ranks, state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a trainer with the lanes and generators of all ranks, in the first."""
    if ranks.size == 1:
        return state
    model = state["model"]
    own = {
        "sampler": model["sampler"]["generator"].numpy(),
        "minibatch": model["minibatch"]["generator"].numpy(),
        "state": model["state"].numpy(),
    }
    parts = ranks.gather({"rows": state["rows"], **state["arrays"], **own})
    if not parts:
        return state
    lanes = {
        name: np.concatenate([part[name] for part in parts]) for name in ("rows", *state["arrays"])
    }
    each = [{name: torch.from_numpy(part[name]) for name in _OWN} for part in parts]
    rest = {name: value for name, value in model.items() if name not in _OWN}
    return {**state, "model": {**rest, "ranks": each}, "rows": lanes.pop("rows"), "arrays": lanes}


def get_rank_state(ranks: Ranks, state: dict[str, Any]) -> dict[str, Any]:
    """Return what a rank has of the state that :func:`gather_state` returned."""
    if ranks.size == 1:
        return state
    lanes = len(state["rows"]) // ranks.size
    here = slice(ranks.rank * lanes, (ranks.rank + 1) * lanes)
    model = dict(state["model"])
    own = model.pop("ranks")[ranks.rank]
    model |= {name: {"generator": own[name]} for name in ("sampler", "minibatch")}
    return {
        **state,
        "model": {**model, "state": own["state"]},
        "rows": state["rows"][here],
        "arrays": {name: array[here] for name, array in state["arrays"].items()},
    }


def build(
    config: ActorCriticRun, engine: Any, on_step: Any = None, ranks: Ranks = SINGLE_RANK
) -> PPOTrainer:
    """Return the trainer as the config asks, with all generators seeded.

    Raises
    ------
    ConfigError
        A device or precision that is not there, or a network that the environment cannot feed.
    """
    return PPOTrainer(
        engine,
        config.ppo,
        config.native,
        seed=config.seed,
        on_step=on_step,
        auxiliary=auxiliary(config, engine),
        ranks=ranks,
        **get_shared_arguments(config),
    )


def auxiliary(config: ActorCriticRun, engine: Engine) -> Auxiliary | None:
    """Return the auxiliary loss that the game offers for ``native.hindsight``; None if it is off.

    Raises
    ------
    ConfigError
        If the mode does not fit the environment or the network.
    """
    if config.native.hindsight == "off":
        return None
    found: Auxiliary = games.get_engine_game(engine).auxiliary(config, engine)
    return found


def first_parameters(
    config: ActorCriticRun, engine: Engine, net: torch.nn.Module
) -> dict[str, Any]:
    """Return the parameters that ``native.warm_start`` names, and the network's own value without.

    Raises
    ------
    ConfigError
        If there is no such run, or its newest checkpoint is damaged, of another environment or of
        another network.
    """
    same = {**checkpoint.identity_of(config.env, engine), "network": network_of(config)}
    path = str(config.native.warm_start)
    return checkpoint.load_first_parameters("native.warm_start", path, same, net.state_dict())


def check(config: ActorCriticRun, engine: Engine) -> None:
    """Refuse what cannot be trained here.

    Raises
    ------
    ConfigError
        See :func:`build`.
    """
    obs_layout(engine).check(config.native)
    auxiliary(config, engine)
    device = choose_device(config.device)
    if config.precision != "auto":
        check_precision(config.precision, device)
    if config.native.warm_start is not None:
        first_parameters(config, engine, ActorCritic(obs_layout(engine), config.ppo, config.native))
    if config.selfplay is not None:
        league.check(config, engine)


def identity(run: RunFolder, engine: Engine) -> dict[str, Any]:
    """Return what a checkpoint must share with this run to be played."""
    config = run.config
    same = checkpoint.identity_of(config.env, engine)
    return {**same, "network": network_of(config), "trainer": config.trainer}


def network_of(config: ActorCriticRun) -> dict[str, Any]:
    """Return the options that shape the network of a run."""
    shape = {name: value for name, value in config.native.to_dict().items() if name in _SHAPE}
    network = {"net_arch": list(config.ppo.net_arch), "activation": config.ppo.activation, **shape}
    for name, usual in (("hindsight", "off"), ("encoder", "auto")):
        if (chosen := getattr(config.native, name)) != usual:  # checkpoints are older than both
            network[name] = chosen
    if config.native.critic_view:
        network["critic_view"] = True
    return network


def load_net(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> ActorCritic:
    """Return the trained network of a run."""
    return policy.load_net(config.ppo, config.native, obs_layout(engine), state_dict)


def load_logits(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> Logits | RecurrentLogits:
    """Return the trained network of a run as a function from observations to logits."""
    return policy.make_player(load_net(config, engine, state_dict))


def load_nets(
    config: ActorCriticRun, engine: BatchEngine, state_dict: dict[str, Any]
) -> dict[str, tuple[ActorCritic, BatchEngine]]:
    """Return the trained network of a run, and an engine that shows what it sees."""
    return {"policy": (load_net(config, engine, state_dict), engine)}
