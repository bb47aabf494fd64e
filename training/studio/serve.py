"""Starts the studio."""

from __future__ import annotations

import socket

import uvicorn

from fastenv.errors import FastEnvError
from training.studio.messages import MAX_BYTES
from training.studio.places import Places
from training.studio.server import Studio


class PortError(FastEnvError, OSError):
    """The port cannot be had."""


def bind(port: int) -> socket.socket:
    """Return a socket of this machine alone.

    Raises
    ------
    PortError
        If another program has the port.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(64)  # who opens the link at once waits until it is served
    except OSError as error:
        listening.close()
        raise PortError(
            f"port {port} cannot be had ({error.strerror}): take another --port."
        ) from error
    return listening


def make_server(studio: Studio) -> uvicorn.Server:
    """Make the server of a studio."""
    config = uvicorn.Config(
        studio.app(),
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_max_size=MAX_BYTES,
        ws_max_queue=32,
        ws_per_message_deflate=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(places: Places, port: int) -> None:
    """Serve until Ctrl-C.

    Raises
    ------
    PortError
        If another program has the port.
    """
    listening = bind(port)
    studio = Studio(places, listening.getsockname()[1])
    print(f"The studio is open: {studio.url}", flush=True)
    make_server(studio).run([listening])
