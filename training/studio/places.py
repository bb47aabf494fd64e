"""The folders that the studio may read: runs and pretrained agents, by name, nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastenv.errors import FastEnvError, show
from training.logs.run_data import read_part
from training.logs.status import mapping
from training.run import registry
from training.run.folder import has_agent
from training.run.seating import SEARCH, env_of_table, is_search
from training.studio.messages import Refusal

PERSON = "person"
PRETRAINED = "pretrained/"  # before the name of an agent that comes with fastenv
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*(/[A-Za-z0-9][A-Za-z0-9_.+-]*){0,4}")
_WORD = re.compile(r"[A-Za-z0-9_+ -]{0,100}")


@dataclass(frozen=True)
class Places:
    """The folders that the studio reads.

    Parameters
    ----------
    runs : Path
        Of all runs; ``.studio`` in it holds what is kept.
    pretrained : Path
    """

    runs: Path
    pretrained: Path

    @property
    def kept(self) -> Path:
        """Folder of moments that are kept."""
        return self.runs / ".studio"

    def folders(self) -> Iterator[tuple[str, Path]]:
        """Yield the names of agents and runs, and their folders: of each kind the newest first."""
        for prefix, root in ((PRETRAINED, self.pretrained), ("", self.runs)):
            if root.is_dir():
                found = [
                    path
                    for path in sorted(root.iterdir())
                    if (path / "config.json").is_file() and _NAME.fullmatch(prefix + path.name)
                ]
                for path in sorted(found, key=_find_created, reverse=True):
                    yield prefix + path.name, path

    def find(self, name: str) -> Path:
        """Return the folder of a run or an agent, or of one of its checkpoints.

        Raises
        ------
        Refusal
            If there is none of that name.
        """
        if _NAME.fullmatch(name) and ".." not in name:
            inside = name.startswith(PRETRAINED)
            root = self.pretrained if inside else self.runs
            path = root / name.removeprefix(PRETRAINED)
            real = path.resolve()
            if real.is_relative_to(root.resolve()) and real != root.resolve() and path.is_dir():
                return path
        raise Refusal(f"player {show(name)}: there is no run and no pretrained agent of that name.")

    def agents(self) -> list[dict[str, str]]:
        """Return name of all agents, and of the environment in which they play."""
        agents = []
        for name, path in self.folders():
            config = mapping(read_part(path, "config.json"), "config")
            env, trainer = config.get("env"), config.get("trainer")
            if env is not None and has_agent(path):
                agents.append({"name": name, "env": _env_played(env.rpartition("/")[2], trainer)})
        return agents

    def check_player(self, name: str, bots: Sequence[str]) -> str:
        """Return a player's name as the loader takes it, with nothing outside in it.

        Parameters
        ----------
        name : str
        bots : sequence of str
            Of the game.

        Raises
        ------
        Refusal
            If it names nobody here.
        """
        head, who, options = "", name, ""
        if is_search(name):
            who, comma, options = name.removeprefix(SEARCH).partition(",")
            head, options = SEARCH, comma + options
            for option in options.split(","):
                key, _, value = option.partition("=")
                if key == "value" or not _WORD.fullmatch(value.replace(".", "").replace("=", "")):
                    raise Refusal(f"player {show(name)}: {show(option)} is no option here.")
        if who in bots:
            return f"{head}{who}{options}"
        return f"{head}{self.find(who)}{options}"


def _find_created(path: Path) -> str:
    """Return when a run began, in UTC and so in order; empty where its file does not say."""
    return str(read_part(path, "config.json").get("created") or "")


def _env_played(env: str, trainer: object) -> str:
    known = isinstance(trainer, str) and trainer in registry.TRAINERS
    whole = known and registry.OPTIONS.load(str(trainer)).PLAYS_WHOLE_GAMES
    try:
        return env_of_table(env) if whole else env
    except FastEnvError:  # an environment that there is not any more
        return env


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options that could name a file.

    Raises
    ------
    Refusal
        Naming the option.
    """
    for name, value in options.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,60}", name):
            raise Refusal(f"option {show(name)} is none.")
        for text in _list_texts(value):
            if not _WORD.fullmatch(text) or (text and Path(text).exists()):
                raise Refusal(f"option {name}={show(text)}: files are not read here, only names.")


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _list_texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_texts(each)
