"""Command line of :mod:`tools.mutate_files`."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import tools.mutate_files as package
from tools.command import new_parser
from tools.mutate_files.kinds import KINDS, find_kind
from tools.mutate_files.reading import Files, work

FOLDER = Path("build/mutated_files")
RECORDS, ORIGINAL = "records.jsonl", "original"  # of a kind and seed
SECONDS = 5.0  # that a reader may take
PATIENCE = 300.0  # for what comes before: imports, compiling, making a file


class Reader:
    """A worker, and what it says of files.

    Parameters
    ----------
    kind : str
    seed : int
    kept : Path
        Folder of the original.
    first, last : int
        It reads files from ``first`` to before ``last``.
    """

    def __init__(self, kind: str, seed: int, kept: Path, first: int, last: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(other, kind, seed, kept, first, last))
        self.process.start()
        other.close()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self._pipe.close()

    def ask(self, seconds: float) -> dict[str, Any] | None:
        """Return the worker's next message, {} if it has ended, None if none comes in that time."""
        try:
            return self._pipe.recv() if self._pipe.poll(seconds) else None
        except EOFError:
            self.process.join()
            return {}

    def expect(self, what: str) -> None:
        """Wait for this line, before which nothing of a stranger's is read."""
        found = self.ask(PATIENCE)
        if not found or what not in found:
            why = (found or {}).get("error", f"it said {found}")
            raise SystemExit(f"the worker has failed before it was {what}: {why}")


def read_one(reader: Reader, number: int) -> tuple[dict[str, Any], bool]:
    """Return the record of the next file, and whether its reader has survived it."""
    reader.expect("begun")
    found = reader.ask(SECONDS)
    if found:
        return found, True
    why = f"more than {SECONDS:g} seconds"
    if found is not None:
        why = f"the process has ended with status {reader.process.exitcode}"
    return {"file": number, "found": "crash", "why": why}, False


def read_all(kind: str, seed: int, count: int, place: Path) -> list[dict[str, Any]]:
    """Read the files of a kind that ``place`` has no record of yet; return the records of all."""
    path, kept = place / RECORDS, place / ORIGINAL
    records = load_records(path)
    retried = -1
    with path.open("a", encoding="utf-8") as log:
        while len(records) < count:
            with closing(Reader(kind, seed, kept, len(records), count)) as reader:
                reader.expect("ready")
                alive = True
                while alive and len(records) < count:
                    record, alive = read_one(reader, number := len(records))
                    if not alive and retried < number:
                        retried = number  # the machine may have been busy: once more
                        break
                    records.append(record)
                    log.write(json.dumps(record) + "\n")
                    log.flush()
    return records


def load_records(path: Path) -> list[dict[str, Any]]:
    """Load the records of an earlier command; an unfinished last line is removed."""
    if not path.is_file():
        return []
    text = path.read_text("utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, "utf-8")
    return [json.loads(line) for line in whole.splitlines()]


def table_of(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return a table of how many files of each kind were accepted, refused, or a crash."""
    lines = [f"{'kind':16}{'files':>10}{'accepted':>10}{'refused':>10}{'crashes':>10}"]
    for name, records in found.items():
        counts = Counter(record["found"] for record in records)
        numbers = (len(records), counts["accepted"], counts["refused"], counts["crash"])
        lines.append(f"{name:16}" + "".join(f"{number:10,}" for number in numbers))
    return "\n".join(lines)


def read_again(name: str, seed: int, number: int, place: Path, keep: Path | None) -> None:
    """Read one file in this process, so that a crash shows its traceback."""
    kind = find_kind(name)
    files = Files(kind, seed, place / ORIGINAL)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) if keep is None else keep
        folder.mkdir(parents=True, exist_ok=True)
        files.write(folder, number)
        kind.read(folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = new_parser("mutate_files", package.__doc__)
    parser.add_argument("kinds", nargs="+", metavar="KIND", help=f"{', '.join(KINDS)} or all")
    parser.add_argument("--count", type=int, default=10_000, help="files of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where progress is kept")
    parser.add_argument("--again", action="store_true", help="forget progress, make originals anew")
    parser.add_argument("--only", type=int, help="read this file alone, without limits")
    parser.add_argument("--keep", type=Path, help="leave the file of --only in this folder")
    options = parser.parse_args(argv)
    names = [*KINDS] if "all" in options.kinds else options.kinds
    try:
        for name in names:
            find_kind(name)
    except (ValueError, ImportError) as error:
        parser.error(str(error))
    found = {}
    for name in names:
        place = options.folder / f"{name.replace(':', '-')}-{options.seed}"
        if options.again:
            shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        if options.only is not None:
            read_again(name, options.seed, options.only, place, options.keep)
            continue
        found[name] = read_all(name, options.seed, options.count, place)[: options.count]
        for record in [record for record in found[name] if record["found"] == "crash"][:20]:
            print(f"{name} {record['file']}: {record['why']}", flush=True)
    if options.only is None:
        print(table_of(found))
    return int(any(record["found"] == "crash" for each in found.values() for record in each))


if __name__ == "__main__":
    sys.exit(main())
