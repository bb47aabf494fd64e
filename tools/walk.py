"""Which files of ``training/`` a command enters, and how often it moves between them.

``python -m tools.walk train --config training/configs/skullking.yaml --total-steps 200k``

runs a command of ``python -m training`` in this process, under ``sys.setprofile``, and counts: the
files in which a function was called (bodies of modules and classes, which imports run, do not
count), and the moves from one of these files into another, by a call or by its return. What lies
between, such as a library that calls back, is looked through. ``--iteration NAME`` gives the same
for one iteration: from the last but one call of the function of that name to the last, so that
what is done once does not count. ``--hand-overs NAME`` lists the functions of ``training/`` that
were open when the function of that name was called first: the way from the command to learning.

A profile slows Python down some three times and changes nothing else. One thread alone is counted,
the one that runs the command.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tools.command import new_parser
from training.run import machine

FOLDER = f"{machine.ROOT / 'training'}/"
BODIES = ("<module>", "<lambda>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>")


class Walk:
    """Counts of a thread; to be given to ``sys.setprofile``.

    Parameters
    ----------
    iteration, opening : str
        Names of functions: where an iteration begins, and whose way there is kept.

    Attributes
    ----------
    entered : Counter of str
        By file of ``training/``, how often one of its functions was called.
    moves : Counter of (str, str)
        From which file into which.
    marks : list of int
        Moves so far, at each beginning of an iteration.
    way : list of str or None
        ``file:function`` of those that were open, outermost first.
    """

    def __init__(self, iteration: str, opening: str) -> None:
        self._iteration, self._opening = iteration, opening
        self.entered: Counter[str] = Counter()
        self.moves: Counter[tuple[str, str]] = Counter()
        self.marks: list[int] = []
        self.way: list[str] | None = None
        self._files: dict[CodeType, str | None] = {}
        self._last = ""  # the file of training/ that ran last

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Take in an event of the profiler."""
        code = frame.f_code
        if event not in ("call", "return"):
            return
        file = self._files.get(code, "")
        if file == "":
            file = self._files[code] = _file_of(code)
        if event == "return":
            # The caller runs on: a move back, unless it is of the same file or none of ours.
            back = frame.f_back
            file = None if file is None or back is None else self._known(back.f_code)
        elif file is not None:
            self.entered[file] += 1
            self._mark(frame, code)
        if file is not None and file != self._last:
            if self._last:
                self.moves[self._last, file] += 1
            self._last = file

    def _known(self, code: CodeType) -> str | None:
        if code not in self._files:
            self._files[code] = _file_of(code)
        return self._files[code]

    def _mark(self, frame: FrameType, code: CodeType) -> None:
        if code.co_name == self._iteration:
            self.marks.append(self.moves.total())
        if code.co_name == self._opening and self.way is None:
            self.way, at = [], frame
            while at is not None:
                file = self._known(at.f_code)
                if file is not None:
                    self.way.insert(0, f"{file}:{at.f_code.co_name}")
                at = at.f_back  # type: ignore[assignment]

    def record(self) -> dict[str, Any]:
        """Return the counts, as JSON values."""
        spans = [b - a for a, b in zip(self.marks, self.marks[1:], strict=False)]
        return {
            "files": len(self.entered),
            "moves": self.moves.total(),
            "iterations": len(self.marks),
            "moves_of_an_iteration": spans[-1] if spans else None,
            "way": self.way,
            "entered": dict(self.entered.most_common()),
            "often": [[*pair, n] for pair, n in self.moves.most_common(20)],
        }


def _file_of(code: CodeType) -> str | None:
    """Return a file of ``training/``, from there; None for other code and bodies of modules."""
    name = code.co_filename
    if not name.startswith(FOLDER) or code.co_name in BODIES or code.co_flags & 0x2 == 0:
        return None
    return name.removeprefix(FOLDER)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit status of the command that was walked through."""
    parse = new_parser("walk", __doc__)
    parse.add_argument("--iteration", default="iterate", metavar="NAME")
    parse.add_argument("--hand-overs", default="iterate", metavar="NAME")
    parse.add_argument("--out", type=Path, metavar="FILE", help="JSON to write")
    parse.add_argument("words", nargs=argparse.REMAINDER, help="a command of python -m training")
    args = parse.parse_args(argv)
    from training.__main__ import main as command

    walk = Walk(args.iteration, args.hand_overs)
    sys.setprofile(walk)
    try:
        status = command(args.words)
    finally:
        sys.setprofile(None)
    found = walk.record()
    print(f"files entered {found['files']}, moves between them {found['moves']:,}")
    print(f"moves of an iteration: {found['moves_of_an_iteration']}")
    for step in found["way"] or ():
        print(f"  {step}")
    if args.out is not None:
        text = {"command": args.words, **machine.revision(), **found}
        args.out.write_text(json.dumps(text, indent=1) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
