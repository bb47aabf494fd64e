"""Look at recorded episodes: ``python -m training watch replay FILE [--out episode.gif]``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from fastenv.errors import ConfigError
from training.evaluation import replays
from training.logs import film
from training.run import files
from training.run.command_line import add_text, exit_status, new_parser
from training.run.options import require

ABOUT = """\
Play recorded episodes again, and verify that they play exactly as recorded. Every frame is drawn in
the terminal, where one steps back and forth with the extra viewer, or with --out into a video.
--check only verifies.
"""


def parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parse = new_parser("watch replay", ABOUT, "runs/first/replays/FILE", "FILE... [options]")
    parse.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recorded episode")
    parse.add_argument(
        "--out", type=Path, metavar="FILM", help="video to write instead, .gif or .mp4"
    )
    parse.add_argument("--fps", type=float, default=2.0, help="frames per second; default 2")
    parse.add_argument("--check", action="store_true", help="verify only, draw nothing")
    parse.add_argument("--backend", default="auto", help="backend to play on; default auto")
    add_text(parse)
    return parse


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 if all files play as recorded, 1 if not, 2 if one cannot."""
    args = parser().parse_args(argv)
    return exit_status(lambda: _replay_all(args))


def _replay_all(args: argparse.Namespace) -> int:
    _check(args)
    try:
        verdicts = [_replay(path, args) for path in args.files]
    except (TypeError, OverflowError) as error:  # of options that only an engine looks at
        raise replays.ReplayError(str(error)) from error
    return 0 if all(verdicts) else 1


def _check(args: argparse.Namespace) -> None:
    require(0 < args.fps <= 100, "--fps", args.fps, "above 0 and at most 100")
    if args.out is None:
        return
    if len(args.files) > 1 or args.check:
        raise ConfigError(f"--out {args.out}: must be given with one FILE and without --check.")
    film.check(args.out)
    files.prepare("--out", args.out)


def _replay(path: Path, args: argparse.Namespace) -> bool:
    """Draw an episode and print whether it plays as recorded."""
    replay = replays.load(path)
    difference = replays.first_difference(replay, replays.play_again(replay, args.backend))
    if args.out is not None:
        pictures = (
            picture for _, picture in replays.render_frames(replay, "rgb_array", args.backend)
        )
        film.write(args.out, pictures, args.fps)
    elif not args.check:
        _show(replay, path.name, args)
    result = "plays as recorded" if difference is None else f"DIFFERS: {difference}"
    where = "" if args.out is None else f"; film in {args.out}"
    print(
        f"{path}: {replay.head['env']}, seed {replay.head['seed']}, {len(replay.frames)} steps, "
        f"return {replay.return_total:.6g}, backend {args.backend}: {result}{where}"
    )
    return difference is None


def _show(replay: replays.Replay, name: str, args: argparse.Namespace) -> None:
    """Show an episode in the terminal, in the application if it can run."""
    from training.terminal import sources, text

    if text.is_needed(args):
        text.print_frames(replays.render_frames(replay, "ansi", args.backend), args.fps)
        return
    from training.terminal.app import App
    from training.terminal.session import TerminalSession

    source = sources.make_replay(replay, name, args.backend)
    App(TerminalSession(replace(sources.show_more(source), delay=1.0 / args.fps))).run()
