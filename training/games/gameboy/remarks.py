"""What a run on the Game Boy says of itself, in its first lines and in its report."""

from __future__ import annotations

from typing import Any

from training.run.engine import Engine


def remarks(engine: Engine) -> list[str]:
    """Name the writes that are on: what is played is not the program alone then."""
    game: Any = engine.game
    program = game.common.program
    names = [] if program is None else [write.name for write in program.writes]
    if not names:
        return []
    return [f"the memory of the game is written to: {', '.join(names)} (env_options.writes)"]
