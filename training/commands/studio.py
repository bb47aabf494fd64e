"""Play, watch and inspect games in the browser: ``python -m training studio``."""

from __future__ import annotations

import argparse
import sys

from fastenv.errors import FastEnvError
from training.run import machine
from training.run.command_line import add_runs, new_parser
from training.run.options import require

ABOUT = """\
Play, watch and inspect any game in the browser. The server listens on 127.0.0.1 only and accepts
only the link that it prints, which contains a token.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("studio", ABOUT, "--port 8765")
    parse.add_argument(
        "--port", type=int, default=8765, help="port; default 8765; 0 for a free one"
    )
    add_runs(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    args = parser().parse_args(argv)
    try:
        require(0 <= args.port < 65536, "--port", args.port, "from 0 to 65535")
        from training.studio.places import Places
        from training.studio.server import serve

        serve(Places(args.runs, machine.ROOT / "pretrained"), args.port)
    except KeyboardInterrupt:
        print()
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "websockets"):
            raise
        print("error: the studio needs Starlette: pip install '.[studio]'.", file=sys.stderr)
        return 2
    except (FastEnvError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0
