"""Where the time of an environment's steps goes (docs/gameboy.md, 15)."""

from __future__ import annotations

from fastenv.gameboy import _core

Milliseconds = dict[str, float]


class StepTimes:
    """Counts where the time of steps goes, from now on.

    It counts for all engines of the process; only the backend ``fast`` is counted whole. Once there
    is one, steps are slower by less than a hundredth.
    """

    def __init__(self) -> None:
        _core.count_times(True)
        self._before = _core.times_spent()

    def read(self, wall_s: float, steps: int = 1, num_threads: int = 1) -> Milliseconds:
        """Return milliseconds a step since the last reading, which add up to its wall time.

        Parameters
        ----------
        wall_s : float
            Seconds that all calls together have taken, by the caller's clock.
        steps : int
            How many calls.
        num_threads : int
            That shared the work.

        Returns
        -------
        dict
            ``emulate_ms``, the machines; ``render_ms``, lines that were drawn, packed and written
            into observations; ``reset_ms``, start states that were copied; ``python_ms``, the rest:
            Python, rewards and infos, and threads that waited for one another.
        """
        now = _core.times_spent()
        spent = {name: now[name] - self._before[name] for name in now}
        self._before = now
        drawn = spent["stepping"] * spent["drawing"] / max(1, spent["watched"])
        parts = {
            "emulate_ms": spent["stepping"] - drawn,
            "render_ms": drawn + spent["encoding"],
            "reset_ms": spent["resetting"],
        }
        found = {name: ns / 1e6 / num_threads / steps for name, ns in parts.items()}
        found["python_ms"] = max(0.0, wall_s * 1e3 / steps - sum(found.values()))
        return found
