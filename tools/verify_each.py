"""Compare the backends of every environment of the installed fastenv, bit for bit.

``python tools/verify_each.py`` runs ``python -m fastenv verify`` for each id, after another in one
process. It imports nothing of the checkout, so it tests a wheel too. Exit status: 0, or 1 if
backends differ or one that must be compiled is missing.
"""

import argparse
import sys

import fastenv
from fastenv import __main__ as command_line
from fastenv.registry import make_game
from fastenv.verify import available


def main() -> int:
    """Run the command line and return the exit status."""
    parse = argparse.ArgumentParser(prog="python tools/verify_each.py", description=__doc__)
    parse.add_argument("--seconds", type=float, default=5.0, help="for each id; default 5")
    args = parse.parse_args()
    print(f"fastenv {fastenv.__version__} from {fastenv.__file__}", flush=True)
    failed = []
    for env_id in fastenv.list_envs():
        missing = [reason for reason in available(make_game(env_id)).values() if reason]
        print(*(f"{env_id}: {reason}\n" for reason in missing), sep="", end="", flush=True)
        command = ["verify", "--env", env_id, "--seconds", str(args.seconds)]
        if missing or command_line.main(command):
            failed.append(env_id)
    if failed:
        print("failed:", ", ".join(failed), file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
