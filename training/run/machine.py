"""The machine of a measurement: processor, versions, revision, load."""

from __future__ import annotations

import math
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
# Committed records, in what git takes as paths: no code, so new ones are no change of it.
RECORDS = (":(exclude)benchmarks/*.json*", ":(exclude)benchmarks/*.sqlite")
PACKAGES = (
    "numpy",
    "numba",
    "gymnasium",
    "torch",
    "stable-baselines3",
    "sb3-contrib",
    "ray",
    "pyboy",
)
CPUINFO = Path("/proc/cpuinfo")
CGROUP = Path("/sys/fs/cgroup")  # as a container sees its own
# Instruction sets that decide how fast loops and products of matrices are; the full list is a
# screenful.
FLAGS = (
    *("sse4_2", "avx", "avx2", "fma", "bmi2", "avx512f", "avx512bw", "avx512vl", "avx_vnni"),
    *("avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "asimd", "sve", "bf16"),
)
# Fields that tell one processor from another: names such as "AMD EPYC" are those of several.
PROCESSOR = ("cpu_model", "cpu_family", "cpu_model_number", "cpu_flags")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def revision() -> dict[str, Any]:
    """Return the revision of the checkout and whether it has changes: ``git_rev``, ``dirty``.

    Both are None outside a checkout; ``git_rev`` is None before the first commit. Records in
    ``benchmarks/`` are no changes: nothing that is measured depends on them, and one is taken
    behind the other. A process asks once: what is committed later is not the code that it runs.
    """
    return {**_find_revision()}


@cache
def _find_revision() -> Mapping[str, Any]:
    status = git("status", "--porcelain", "--", ".", *RECORDS)
    dirty = None if status is None else bool(status)
    return {"git_rev": git("rev-parse", "--short=12", "HEAD"), "dirty": dirty}


def ranks() -> int:
    """Return the number of processes of torchrun that train together; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", 1))


def command() -> str:
    """Return the command line of this process as one would type it."""
    path = Path(sys.argv[0])
    if path.is_relative_to(ROOT):
        parts = [*path.relative_to(ROOT).with_suffix("").parts]
        module = ".".join(parts[:-1] if parts[-1] == "__main__" else parts)
    else:
        module = path.parent.name if path.stem == "__main__" else f"training.{path.stem}"
    return shlex.join(["python", "-m", module, *sys.argv[1:]])


def taken_on() -> dict[str, Any]:
    """Describe the origin of figures: time, command, revision, machine, versions.

    The beginning of every record.
    """
    return {"created": now(), "command": command(), **built_from()}


def built_from() -> dict[str, Any]:
    """Describe revision, machine and versions, in the order of records."""
    return {**revision(), "host": host(), "versions": versions()}


def git(*command: str) -> str | None:
    """Run git in the checkout and return its output; None outside of one, or if it fails."""
    try:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def versions(modules: Iterable[str] = ()) -> dict[str, str]:
    """Return the versions of Python, fastenv and the packages that figures depend on.

    Parameters
    ----------
    modules : iterable of str
        Names of further modules whose packages are among them; see
        :func:`training.run.games.modules_of`.
    """
    import fastenv

    installed = {"python": platform.python_version(), "fastenv": fastenv.__version__}
    own = [name for module in modules for name in _distributions().get(module, ())]
    found = {name: _find_version(name) for name in dict.fromkeys([*PACKAGES, *own])}
    return installed | {name: version for name, version in found.items() if version is not None}


@cache
def _find_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Return the packages of each module, which are searched in all of them: once a process."""
    return metadata.packages_distributions()


def host() -> dict[str, Any]:
    """Describe this machine."""
    return {
        **_read_cpu(),
        "physical_cores": physical_cores(),
        "logical_cores": len(os.sched_getaffinity(0)) if _is_linux() else os.cpu_count(),
        "ram_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "os": platform.platform(),
        "gpu": gpu(),
    }


def physical_cores() -> int:
    """Return the number of cores this process may use; a container may have a share of them."""
    usable = len(os.sched_getaffinity(0)) if _is_linux() else os.cpu_count() or 1
    physical = psutil.cpu_count(logical=False) or usable
    return max(1, math.ceil(min(usable, physical, _read_quota())))


def cores() -> int:
    """Return the cores of this process, where ranks of torchrun share those of a machine."""
    return max(1, physical_cores() // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))


def _read_quota() -> float:
    """Return how many cores the control group of this process may use; infinity for all."""
    try:
        if (CGROUP / "cpu.max").exists():
            quota, period = (CGROUP / "cpu.max").read_text(encoding="ascii").split()
        else:
            both = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = ((CGROUP / "cpu" / x).read_text(encoding="ascii") for x in both)
        share = float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):  # there is none, or it says "max"
        return math.inf
    return share if share > 0 else math.inf


def gpu() -> str | None:
    """Return the name of the first CUDA device, on which all is untested; None without one."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _is_linux() -> bool:
    return hasattr(os, "sched_getaffinity")


def _read_cpu() -> dict[str, Any]:
    """Read the name, family, model and flags of the processor, as far as they are known."""
    try:
        first, _, _ = CPUINFO.read_text(encoding="utf-8").strip().partition("\n\n")
    except OSError:
        first = ""
    pairs = (line.partition(":") for line in first.splitlines())
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    every = fields.get("flags", fields.get("features", "")).split()  # the second on ARM
    return {
        "cpu_model": fields.get("model name", platform.processor()),
        "cpu_family": fields.get("cpu family", fields.get("cpu architecture")),
        "cpu_model_number": fields.get("model", fields.get("cpu part")),
        "cpu_flags": [flag for flag in FLAGS if flag in every],
    }


def processor(known: Mapping[str, Any]) -> dict[str, Any]:
    """Select the fields of the processor from a host, or from a line of the history."""
    return {name: known.get(name) for name in PROCESSOR}


def describe(known: Mapping[str, Any]) -> str:
    """Describe a processor in words: its name and, where it is known, family and model.

    Parameters
    ----------
    known : mapping
        A host, or a line of the history.
    """
    if known.get("cpu_family") is None:
        return str(known.get("cpu_model", ""))
    return f"{known['cpu_model']} (family {known['cpu_family']}, model {known['cpu_model_number']})"
