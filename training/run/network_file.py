"""Files of single networks in safetensors, which are neither agents nor checkpoints.

The metadata name the format and, of networks that have options, hold these as JSON: the network is
made from them before it is given its numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn

from fastenv.errors import ConfigError, FileError, show, show_reason
from fastenv.files import parse_json
from training.run import files
from training.run.options import Options, require
from training.run.weights import load_library, read_tensors

MOST = 1 << 27  # bytes of a file


class Head(Options):
    """Options that make a network."""

    def net(self) -> nn.Module:
        """Make a new network."""
        raise NotImplementedError


HeadT = TypeVar("HeadT", bound=Head)


@dataclass(frozen=True)
class NetworkFile:
    """A kind of files of single networks.

    Parameters
    ----------
    format : str
        In the metadata.
    kind : str
        What a file holds, in words.
    option : str
        What names such a file, in messages.
    command : str
        What writes one.
    """

    format: str
    kind: str
    option: str
    command: str

    def save(self, path: Path, head: Head, net: nn.Module) -> None:
        """Write a network with its options.

        Raises
        ------
        ImportError
            Without safetensors.
        """
        self.write(path, net.state_dict(), {"head": json.dumps(head.to_dict())})

    def write(self, path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, str]) -> None:
        """Write tensors, and texts about them; see :meth:`save`."""
        whole = {name: value.contiguous() for name, value in tensors.items()}
        files.write_bytes(path, self.library().torch.save(whole, {"format": self.format, **about}))

    def load(self, path: Path, head: type[HeadT]) -> tuple[HeadT, Any]:
        """Read a network.

        Parameters
        ----------
        path : Path
        head : type
            Of its options, whose ``net()`` makes it.

        Returns
        -------
        head : Head
        net : Module
            In float32, whatever the file holds.

        Raises
        ------
        ConfigError
            If it is none of this kind, or damaged.
        ImportError
            Without safetensors.
        """
        about, tensors = self.read(path)
        try:
            values = parse_json(about["head"], "its head")
        except FileError as error:
            raise self._make_refusal(path, error) from error
        except (KeyError, ValueError) as error:
            raise ConfigError(f"{path} is no {self.kind}: {show_reason(error)}.") from error
        try:
            options = head.from_mapping(values)
        except ConfigError as error:
            raise ConfigError(f"{self.kind} {path}: {error}") from error
        net: Any = options.net()
        self.fill(path, net, tensors)
        return options, net

    def read(self, path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
        """Read what :meth:`write` has written, the texts first; errors as of :meth:`load`."""
        library, allowed = self.library(), f"a file that {self.command} has written"
        try:
            about, tensors = read_tensors(library, path, MOST)
        except FileError as error:
            raise self._make_refusal(path, error) from error
        except (library.SafetensorError, KeyError, ValueError, OSError) as error:
            raise ConfigError(f"{path} is no {self.kind}: {show_reason(error)}.") from error
        require(about.get("format") == self.format, self.option, str(path), allowed)
        return about, tensors

    def fill(self, path: Path, net: nn.Module, tensors: Mapping[str, Tensor]) -> None:
        """Give a network the numbers of a file, in float32; errors as of :meth:`load`."""
        try:
            net.load_state_dict({name: value.float() for name, value in tensors.items()})
        except RuntimeError as error:
            raise ConfigError(f"{path} holds another network: {show_reason(error)}.") from error
        finite = all(bool(value.isfinite().all()) for value in net.state_dict().values())
        require(finite, self.option, str(path), "a network of finite numbers")

    def _make_refusal(self, path: Path, error: FileError) -> ConfigError:
        return ConfigError(f"{self.option}={show(str(path))} is not possible: {error}")

    def library(self) -> Any:
        """Load the library safetensors; ImportError names the kind of file that needs it."""
        return load_library(f"{self.kind[0].upper()}{self.kind[1:]}s")
