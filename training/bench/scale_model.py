"""What more cores and GPUs would do, from the costs in a record of ``--only scale``.

The parts of an iteration follow one another in both trainers, so what a decision costs is their
sum, and the largest part is what binds. Gradients go round as in a ring. Not in the model: cores
that share memory, ranks that wait for the slowest, evaluations, checkpoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastenv.errors import ConfigError

CORES, GPUS = (8, 64, 1024), (1, 2, 4, 8)
NEEDED = ("native", "rllib", "rllib, 2 runners")


@dataclass(frozen=True)
class Costs:
    """What a decision costs, measured on one machine; microseconds unless said.

    Parameters
    ----------
    env, act, update : float
        Of the native trainer on one core: the environment, the network and the store of a
        rollout, and what is learnt from it.
    log : float
        Of its first rank alone.
    sample, gather : float
        Of RLlib: what env runners share, and what they do not.
    rllib_update, rllib_other : float
        Of RLlib's learner, and of the process that drives it.
    message : float
        Latency between two ranks.
    bytes_per_us : float
        That two ranks exchange.
    gradient_bytes, decision_bytes : int
        Of all gradients; of observation, mask and numbers of a decision.
    minibatch, epochs : int
    """

    env: float
    act: float
    update: float
    log: float
    sample: float
    gather: float
    rllib_update: float
    rllib_other: float
    message: float
    bytes_per_us: float
    gradient_bytes: int
    decision_bytes: int
    minibatch: int
    epochs: int

    @property
    def one_core(self) -> float:
        """A decision of the native trainer on one core."""
        return self.env + self.act + self.update + self.log


def costs_of(rows: Iterable[Mapping[str, Any]]) -> Costs:
    """Return the costs in the rows of a record.

    Raises
    ------
    ConfigError
        If it lacks one of them.
    """
    every = list(rows)
    by = {row["way"]: row for row in every if "way" in row}
    small, large = _exchanges(every)
    if missing := [name for name in NEEDED if name not in by]:
        raise ConfigError(f"the record has no row of {missing[0]!r}: make rllib, measure again.")
    native, one, two = (by[name] for name in NEEDED)
    split, rllib = native["us_per_step"], one["us_per_step"]
    # What two runners save is half of what they share.
    shared = 2 * max(0.0, rllib["sample"] - two["us_per_step"]["sample"])
    shared = min(shared, rllib["sample"])
    return Costs(
        env=split["env"],
        act=split["collect"],
        update=split["update"],
        log=_rest(native),
        sample=shared,
        gather=rllib["sample"] - shared,
        rllib_update=rllib["update"],
        rllib_other=rllib["sync"] + _rest(one),
        message=small["us"] / 2,
        bytes_per_us=large["bytes"] / max(1e-9, large["us"] - small["us"]),
        gradient_bytes=large["bytes"],
        decision_bytes=large["obs_bytes"] + 4 * large["actions"] + 24,
        minibatch=native["minibatch"],
        epochs=native["epochs"],
    )


def _exchanges(rows: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    found = sorted((r for r in rows if r["kind"] == "exchange"), key=lambda r: int(r["bytes"]))
    if len(found) < 2:
        raise ConfigError("the record has no rows of what ranks exchange: measure --only scale.")
    return found[0], found[-1]


def _rest(row: Mapping[str, Any]) -> float:
    """Return what of a decision's time is in no phase."""
    return max(0.0, 1e6 / row["steps_per_s"] - sum(row["us_per_step"].values()))


@dataclass(frozen=True)
class Assumed:
    """What was not measured.

    Parameters
    ----------
    device_us : float
        A decision on one GPU, acting and learning. The default is what ``make gpu-check`` asks for.
    device_minibatch : int
        Of the whole run on GPUs.
    cores_per_gpu : int
        That step lanes.
    bus_bytes_per_us : float
        Between host and GPU, and between GPUs.
    bus_us : float
        Latency between GPUs.
    machine_cores : int
        Of a machine; beyond it the network is between ranks.
    network_bytes_per_us, network_us : float
        Between machines.
    """

    device_us: float = 2.0
    device_minibatch: int = 32_768
    cores_per_gpu: int = 8
    bus_bytes_per_us: float = 12_000.0
    bus_us: float = 20.0
    machine_cores: int = 64
    network_bytes_per_us: float = 1_250.0
    network_us: float = 50.0

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        for name, value in vars(self).items():
            if not value > 0:
                raise ConfigError(f"--{name.replace('_', '-')} {value}: must be above 0.")


@dataclass(frozen=True)
class Estimate:
    """What a way would do.

    Parameters
    ----------
    way : str
    size : str
        Cores and GPUs.
    parts : dict of str to float
        Microseconds of a decision of the whole run.
    assumed : bool
        Whether more than the way to add up is assumed: a GPU or a network.
    """

    way: str
    size: str
    parts: dict[str, float]
    assumed: bool

    @property
    def steps_per_s(self) -> float:
        """Decisions a second."""
        return 1e6 / sum(self.parts.values())

    @property
    def binds(self) -> str:
        """Name of the largest part."""
        return max(self.parts, key=lambda name: self.parts[name])


def estimates(costs: Costs, assumed: Assumed) -> list[Estimate]:
    """Return what each way would do, at each size."""
    found = [
        Estimate(
            "native, 1 process (measured)",
            "1 core",
            _native(costs, assumed, 1, grows=False),
            assumed=False,
        )
    ]
    for cores in CORES:
        size, several = f"{cores:,} cores", cores > assumed.machine_cores
        for way, parts in (
            ("torchrun, the same minibatches", _native(costs, assumed, cores, grows=False)),
            ("torchrun, lanes and minibatches grow", _native(costs, assumed, cores, grows=True)),
            ("RLlib, 1 learner", _rllib(costs, assumed, cores - 1, 1)),
            ("RLlib, as many learners as are best", _best(costs, assumed, cores)),
        ):
            found.append(Estimate(way, size, parts, several))
    for cores in CORES:
        parts = _rllib(costs, assumed, cores, 1) | {"update": assumed.device_us}
        found.append(Estimate("RLlib, 1 learner on a GPU", f"{cores:,} cores, 1 GPU", parts, True))
    for gpus in GPUS:
        size = f"{gpus} GPU{'s' * (gpus != 1)}, {gpus * assumed.cores_per_gpu} cores"
        found.append(Estimate("torchrun on GPUs", size, _on_gpus(costs, assumed, gpus), True))
    return found


def _native(costs: Costs, assumed: Assumed, ranks: int, *, grows: bool) -> dict[str, float]:
    larger = ranks if grows else 1
    ring = _ring(ranks, costs.gradient_bytes, *_link(costs, assumed, ranks))
    return {
        "environment": costs.env / ranks,
        "acting": costs.act / ranks,
        "update": costs.update / ranks,
        "gradients": ring * costs.epochs / (costs.minibatch * larger),
        "log": costs.log / larger,
    }


def _rllib(costs: Costs, assumed: Assumed, runners: int, learners: int) -> dict[str, float]:
    several = runners + learners > assumed.machine_cores
    ring = _ring(learners, costs.gradient_bytes, *_link(costs, assumed, runners + learners))
    network = costs.decision_bytes / assumed.network_bytes_per_us if several else 0.0
    return {
        "sampling": costs.sample / runners,
        "gathering samples": costs.gather + network,
        "update": costs.rllib_update / learners,
        "gradients": ring * costs.epochs / costs.minibatch,
        "driver": costs.rllib_other,
    }


def _best(costs: Costs, assumed: Assumed, cores: int) -> dict[str, float]:
    """Return the parts of the split of cores into runners and learners that is fastest."""
    splits = (_rllib(costs, assumed, cores - k, k) for k in range(1, cores))
    return min(splits, key=lambda parts: sum(parts.values()))


def _on_gpus(costs: Costs, assumed: Assumed, gpus: int) -> dict[str, float]:
    ring = _ring(gpus, costs.gradient_bytes, assumed.bus_us, assumed.bus_bytes_per_us)
    return {
        "environment": costs.env / (gpus * assumed.cores_per_gpu),
        "transfer": costs.decision_bytes / assumed.bus_bytes_per_us / gpus,
        "device": assumed.device_us / gpus,
        "gradients": ring * costs.epochs / assumed.device_minibatch,
        "log": costs.log * costs.minibatch / assumed.device_minibatch,
    }


def _link(costs: Costs, assumed: Assumed, cores: int) -> tuple[float, float]:
    """Return latency and bytes a microsecond between ranks."""
    if cores <= assumed.machine_cores:
        return costs.message, costs.bytes_per_us
    return assumed.network_us, min(costs.bytes_per_us, assumed.network_bytes_per_us)


def _ring(ranks: int, size: int, latency: float, bytes_per_us: float) -> float:
    """Return the microseconds in which ranks average so many bytes, in a ring."""
    hops = 2 * (ranks - 1)
    return hops * latency + hops / ranks * size / bytes_per_us


HEADS = ("way", "size", "decisions a second", "times one core", "us of a decision", "binds first")


def table(costs: Costs, assumed: Assumed) -> list[tuple[str, ...]]:
    """Return a line for each estimate; those that rest on a GPU or a network have a star."""
    lines: list[tuple[str, ...]] = []
    for each in estimates(costs, assumed):
        parts = ", ".join(f"{n} {us:.3g}" for n, us in each.parts.items() if us >= 0.005)
        speed = f"{each.steps_per_s:,.0f}{' *' if each.assumed else ''}"
        over = f"{each.steps_per_s * costs.one_core / 1e6:.1f}"
        lines.append((each.way, each.size, speed, over, parts, each.binds))
    return lines


def sentence(assumed: Assumed) -> str:
    """Return what is assumed, in words."""
    return (
        f"Measured: everything of one machine's cores. Assumed (*): a GPU takes "
        f"{assumed.device_us:g} us a decision, minibatches of {assumed.device_minibatch:,}, "
        f"{assumed.cores_per_gpu} cores a GPU, a bus of {assumed.bus_bytes_per_us / 1e3:g} GB/s; "
        f"machines of {assumed.machine_cores} cores, between them "
        f"{assumed.network_bytes_per_us * 8 / 1e3:g} Gbit/s and {assumed.network_us:g} us."
    )
