"""What a figure was taken on: processor, versions, revision, load."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("numpy", "numba", "gymnasium", "torch", "stable-baselines3", "sb3-contrib", "ray")


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def revision() -> dict[str, Any]:
    """Return the revision of the checkout and whether it has changes: ``git_rev``, ``dirty``.

    Both are None outside a checkout; ``git_rev`` is None before the first commit. Records in
    ``benchmarks/`` are no changes: nothing that is measured depends on them, and one is taken
    behind the other.
    """
    status = _git("status", "--porcelain", "--", ".", ":(exclude)benchmarks")
    dirty = None if status is None else bool(status)
    return {"git_rev": _git("rev-parse", "--short=12", "HEAD"), "dirty": dirty}


def command() -> str:
    """Return the command line of this process as one would type it."""
    path = Path(sys.argv[0])
    module = path.parent.name if path.stem == "__main__" else f"training.{path.stem}"
    return shlex.join(["python", "-m", module, *sys.argv[1:]])


def _git(*command: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *command], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def versions() -> dict[str, str]:
    """Return the versions of Python, fastenv and the packages that figures depend on."""
    import fastenv

    found = {"python": platform.python_version(), "fastenv": fastenv.__version__}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def host() -> dict[str, Any]:
    """Return what machine this is."""
    return {
        "cpu_model": _cpu_model(),
        "physical_cores": physical_cores(),
        "logical_cores": len(os.sched_getaffinity(0)) if _linux() else os.cpu_count(),
        "ram_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "os": platform.platform(),
        "gpu": gpu(),
    }


def physical_cores() -> int:
    """Return the number of cores this process may use."""
    usable = len(os.sched_getaffinity(0)) if _linux() else os.cpu_count() or 1
    return max(1, min(usable, psutil.cpu_count(logical=False) or usable))


def gpu() -> str | None:
    """Return the name of the first CUDA device, on which all is untested; None without one."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _linux() -> bool:
    return hasattr(os, "sched_getaffinity")


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    found = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(found, platform.processor())
