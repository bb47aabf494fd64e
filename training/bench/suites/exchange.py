"""What ranks exchange: the time in which two of them on this machine average gradients by gloo."""

from __future__ import annotations

import multiprocessing
import os
import socket
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import torch

from training.ppo import NativeLearner
from training.run.config import RunConfig
from training.run.ranks import Ranks

TIMES = 200
RANKS = 2


def rows(config: RunConfig, repeats: int, times: int = TIMES) -> list[dict[str, Any]]:
    """Return a row for a single number and one for the gradients of the network of a run.

    Parameters
    ----------
    config : RunConfig
    repeats : int
    times : int
        Averages of a repeat.
    """
    learner = NativeLearner(config)
    gradients = sum(each.numel() for each in learner.trainer.net.parameters())
    engine = learner.engines[0]
    sizes = {"obs_bytes": engine.obs[0].nbytes, "actions": engine.num_actions}
    learner.close()
    found = _timed((1, gradients), repeats, times)
    return [
        {
            "kind": "exchange",
            "ran": {"timed": "average", "adapter": "gloo", "ranks": RANKS, "numbers": numbers},
            "name": f"{what}, averaged by gloo over {RANKS} ranks on this machine",
            "numbers": numbers,
            "bytes": 4 * numbers,
            "ranks": RANKS,
            "us": statistics.median(every),
            "us_all": every,
            **sizes,
        }
        for what, numbers, every in zip(
            ("one number", "gradients of the network"), (1, gradients), found, strict=True
        )
    ]


def _timed(sizes: tuple[int, ...], repeats: int, times: int) -> list[list[float]]:
    """Return for each size the microseconds of an average, one value a repeat."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with ProcessPoolExecutor(RANKS, multiprocessing.get_context("spawn")) as processes:
        every = [processes.submit(_rank, k, port, sizes, repeats, times) for k in range(RANKS)]
        first, *_ = [each.result() for each in every]
        return first


def _rank(
    rank: int, port: int, sizes: tuple[int, ...], repeats: int, times: int
) -> list[list[float]]:
    """Be one of the ranks."""
    torch.set_num_threads(1)
    os.environ.update(
        {"RANK": str(rank), "WORLD_SIZE": str(RANKS), "LOCAL_RANK": str(rank)}
        | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    )
    ranks = Ranks.of_environment()
    ranks.join()
    found: list[list[float]] = [[] for _ in sizes]
    tensors = [torch.zeros(size) for size in sizes]
    for repeat in range(repeats + 1):
        for tensor, into in zip(tensors, found, strict=True):
            begin = time.perf_counter()
            for _ in range(times):
                ranks.average([tensor])
            if repeat:  # the first is not timed
                into.append(1e6 * (time.perf_counter() - begin) / times)
    if rank == 0:
        ranks.tell("end")
    else:
        ranks.told()
    return found
