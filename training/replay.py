"""Play recorded episodes again: ``python -m training.replay FILE``.

Playing an episode again proves that nothing has changed since it was recorded.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fastenv.errors import FastEnvError
from training.evaluation import replays


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 if all files play as recorded, 1 if not, 2 if one cannot."""
    parse = argparse.ArgumentParser(prog="python -m training.replay", description=__doc__)
    parse.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parse.add_argument("--backend", default="auto", help="what to play them on")
    args = parse.parse_args(argv)
    status = 0
    try:
        for path in args.files:
            replay = replays.load(path)
            found = replays.first_difference(replay, replays.play_again(replay, args.backend))
            head, result = (
                replay.head,
                "plays as recorded" if found is None else f"DIFFERS: {found}",
            )
            print(
                f"{path}: {head['env']}, seed {head['seed']}, {len(replay.frames)} steps, "
                f"return {replay.return_total:.6g}, backend {args.backend}: {result}"
            )
            status = status or int(found is not None)
    except (FastEnvError, TypeError, OverflowError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
