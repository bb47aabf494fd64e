"""Serves the page and its websocket to one person on this machine.

Who comes with another host or another origin is refused before anything else is looked at. So is
who has no token, but for the files of the page, which are the same on every machine. The token is
no cookie: a browser sends those of one port of 127.0.0.1 to the servers of all others.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket as sockets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from fastenv.errors import FastEnvError
from fastenv.registry import ENVS
from training.run.game_view import find_view
from training.studio import catalog, messages
from training.studio.messages import Refusal, describe_fault
from training.studio.outbox import Outbox
from training.studio.places import Places
from training.studio.worker import Worker

PAGE = Path(__file__).parent / "page"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MAX_SESSIONS = 32
MAX_FILMS, MAX_FILM_BYTES = 8, 64 << 20
VERSION = 1
CURVES_S = 1.0
BUSY_S = 1.0  # after which a client is told that something takes longer, and between two words
# What takes so long, by the kind of message that asked for it.
BUSY = {
    **dict.fromkeys(("begin", "open", "load", "pick", "take"), "Preparing the game"),
    "describe": "Compiling for the first game",
    "film": "Making a film",
    "prove": "Stepping all backends",
    "think": "Thinking",
}


class Studio:
    """The state that all sessions share, and the handlers of requests.

    Parameters
    ----------
    places : Places
    port : int

    Attributes
    ----------
    token : str
        What a client must know.
    """

    def __init__(self, places: Places, port: int) -> None:
        self.places, self.port = places, port
        self.token = secrets.token_urlsafe(24)
        self.sessions = 0
        self._films: OrderedDict[str, tuple[str, bytes]] = OrderedDict()

    @property
    def url(self) -> str:
        """The address, with the token behind a ``#``: a browser sends that part nowhere."""
        return f"http://127.0.0.1:{self.port}/#token={self.token}"

    # -- the door --------------------------------------------------------------------------------

    def why_not(self, connection: HTTPConnection, *, public: bool = False) -> str:
        """Give in a sentence the reason to refuse a connection, nothing if there is none.

        Parameters
        ----------
        connection : HTTPConnection
        public : bool
            Whether a file of the page is asked for, which needs no token.
        """
        hosts = {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost")}
        if connection.headers.get("host") not in hosts:
            return "The studio answers on 127.0.0.1 and localhost alone."
        origin = connection.headers.get("origin")
        needed = connection.scope["type"] == "websocket"
        if (origin is not None or needed) and origin not in {f"http://{host}" for host in hosts}:
            return "The studio answers to its own page alone."
        if not (public or self._has_token(connection)):
            return "The studio wants its token: open the link that it has printed."
        return ""

    def _has_token(self, connection: HTTPConnection) -> bool:
        # A page can give its socket an address alone, and a request a header.
        header = connection.headers.get("authorization", "").removeprefix("Bearer ")
        tokens = (connection.query_params.get("token"), header)
        return any(
            hmac.compare_digest(text.encode(), self.token.encode()) for text in tokens if text
        )

    def guard(
        self, answer: Callable[[Request], Awaitable[Response]], *, public: bool
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an answer for those who may have it."""

        async def guarded(request: Request) -> Response:
            refused = self.why_not(request, public=public)
            if refused:
                return PlainTextResponse(refused + "\n", 403, HEADERS)
            try:
                response = await answer(request)
            except (FastEnvError, OSError) as error:
                response = PlainTextResponse(f"{error}\n", 404)
            except Exception as error:  # whatever it is, it is answered
                text = describe_fault(error)
                response = PlainTextResponse(f"{text[0].upper()}{text[1:]}\n", 500)
            response.headers.update(HEADERS)
            return response

        return guarded

    # -- files -----------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        """Answer with the page, which reads the token in its address."""
        return FileResponse(PAGE / "index.html", media_type="text/html")

    async def file(self, request: Request) -> Response:
        """Answer with a file of the page, by its name alone."""
        name = request.path_params["name"]
        paths = {path.name: path for path in PAGE.iterdir() if path.suffix in TYPES}
        if name not in paths:
            return PlainTextResponse("There is no such file.\n", 404)
        return FileResponse(paths[name], media_type=TYPES[paths[name].suffix])

    async def game_page(self, request: Request) -> Response:
        """Answer with the module that draws a game."""
        env = request.path_params["env"]
        path = find_view(env).page if env in ENVS else None
        if path is None:
            return PlainTextResponse("This game draws no scenes.\n", 404)
        return FileResponse(path, media_type="text/javascript")

    async def rules(self, request: Request) -> Response:
        """Answer with the rules of a game, as a part of a page."""
        env = request.path_params["env"]
        path = find_view(env).rules if env in ENVS else None
        if path is None:
            return PlainTextResponse("The rules of this game are not told.\n", 404)
        return FileResponse(path, media_type="text/html")

    async def picture(self, request: Request) -> Response:
        """Answer with the picture of a game."""
        path = catalog.find_picture(request.path_params["env"])
        if path is None:
            return PlainTextResponse("There is no picture of this game.\n", 404)
        return FileResponse(path, media_type="image/png")

    async def film(self, request: Request) -> Response:
        """Answer with a film that was made."""
        film = self._films.get(request.path_params["name"])
        if film is None:
            return PlainTextResponse("There is no such film any more.\n", 404)
        name = request.path_params["name"]
        headers = {"Content-Disposition": f'attachment; filename="fastenv-{name}"'}
        return Response(film[1], media_type=film[0], headers=headers)

    async def moment(self, request: Request) -> Response:
        """Answer with a moment that is kept, as a file."""
        name = request.path_params["name"]
        names = {path.name for path in self.places.kept.glob("*.json")}
        if f"{name}.json" not in names:
            return PlainTextResponse("This moment is not kept here.\n", 404)
        headers = {"Content-Disposition": f'attachment; filename="moment-{name[:12]}.json"'}
        path = self.places.kept / f"{name}.json"
        return FileResponse(path, media_type="application/json", headers=headers)

    async def report(self, request: Request) -> Response:
        """Answer with runs as one file that needs nothing else."""
        from training.studio import report

        names = [name for name in request.query_params.get("runs", "").split(",") if name][:12]
        paths = {name: self.places.find(name) for name in names}
        text = await asyncio.to_thread(report.page, paths)
        headers = {"Content-Disposition": 'attachment; filename="report.html"'}
        return Response(text, media_type="text/html", headers=headers)

    def keep_film(self, data: bytes, kind: str) -> str:
        """Hold a film for a while; return where it can be downloaded."""
        name = f"{secrets.token_hex(8)}.{kind}"
        self._films[name] = ("image/gif" if kind == "gif" else "video/mp4", data)
        while len(self._films) > 1 and (
            len(self._films) > MAX_FILMS
            or sum(len(f) for _, f in self._films.values()) > MAX_FILM_BYTES
        ):
            self._films.popitem(last=False)
        return f"/film/{name}"

    def link(self, name: str) -> str:
        """Return the link that opens a moment."""
        return f"{self.url}&moment={name}"

    # -- the websocket ---------------------------------------------------------------------------

    async def socket(self, socket: WebSocket) -> None:
        """Serve one session, from beginning to end."""
        refused = self.why_not(socket)
        if not refused and self.sessions >= MAX_SESSIONS:
            refused = f"There are {MAX_SESSIONS} sessions already."
        if refused:
            await socket.close(4403, refused)
            return
        await socket.accept()
        self.sessions += 1
        wake, loop = asyncio.Event(), asyncio.get_running_loop()
        outbox = Outbox(lambda: _call(loop, wake.set))
        outbox.put(await asyncio.to_thread(self._make_hello))
        worker = Worker(lambda: self._make_session(outbox), lambda text: _refuse(outbox, text))
        sender = asyncio.create_task(_send(socket, outbox, wake))
        receiver = asyncio.create_task(_receive(socket, outbox, worker, self.places))
        teller = asyncio.create_task(_tell_busy(outbox, worker))
        try:
            await asyncio.wait({sender, receiver}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sender.cancel()
            receiver.cancel()
            teller.cancel()
            await asyncio.gather(sender, receiver, teller, return_exceptions=True)
            worker.close()
            self.sessions -= 1

    def _make_session(self, outbox: Outbox) -> Any:
        import torch

        from training.studio.session import ClientSession

        torch.set_num_threads(1)  # of a decision there is little to share
        return ClientSession(self.places, outbox, self.link, self.keep_film)

    def _make_hello(self) -> dict[str, Any]:
        return {
            "kind": "hello",
            "version": VERSION,
            "envs": [*ENVS],
            "games": catalog.list_families(),
            "link": self.link(""),
        }

    def app(self) -> Starlette:
        """Return the application."""
        pages = [
            ("/", self.index, True),
            ("/page/{name}", self.file, True),
            ("/game/{env}/page.js", self.game_page, True),
            ("/game/{env}/rules", self.rules, True),
            ("/game/{env}/picture", self.picture, True),
            ("/film/{name}", self.film, False),
            ("/moment/{name}", self.moment, False),
            ("/report", self.report, False),
        ]
        routes = [
            Route(path, self.guard(answer, public=public), methods=["GET"])
            for path, answer, public in pages
        ]
        return Starlette(routes=[*routes, WebSocketRoute("/session", self.socket)])


def _call(loop: asyncio.AbstractEventLoop, do: Callable[[], None]) -> None:
    """Call something in a loop, unless it is closed already."""
    try:
        loop.call_soon_threadsafe(do)
    except RuntimeError:
        return


def _refuse(outbox: Outbox, text: str) -> None:
    """Send a client the reason why a message is refused."""
    outbox.put({"kind": "refused", "text": text})


async def _tell_busy(outbox: Outbox, worker: Worker) -> None:
    """Tell once a second which message takes longer, such as compiling, and when it is over."""
    sent = False
    while True:
        await asyncio.sleep(BUSY_S)
        seconds, kind = worker.busy()
        whole = int(seconds) if seconds >= BUSY_S else 0
        if whole or sent:
            text = BUSY.get(kind, "Working")
            outbox.put({"kind": "busy", "seconds": whole, "text": text})
        sent = whole > 0


async def _send(socket: WebSocket, outbox: Outbox, wake: asyncio.Event) -> None:
    """Send what waits, until the client has left."""
    try:
        while not outbox.overflown:
            waiting = outbox.take()
            if waiting is None:
                await wake.wait()
                wake.clear()
                continue
            message, pixels = waiting
            try:
                packed = messages.pack_picture(message, pixels) if pixels else b""
                text = "" if pixels else messages.dump(message)
            except Exception as error:  # of a view the client never hears: it need not say so
                _refuse(outbox, describe_fault(error))
                outbox.acknowledge(message.get("number", 0))
                continue
            await (socket.send_bytes(packed) if pixels else socket.send_text(text))
        await socket.close(4408, "this client takes nothing of what is sent to it.")
    except (WebSocketDisconnect, RuntimeError, OSError):
        return


async def _follow(message: messages.Curves, outbox: Outbox, places: Places) -> None:
    """Send curves of runs, and again when something was written since."""
    from training.studio import runs

    try:
        paths = {name: places.find(name) for name in message.names}
        reader, maps = runs.CurveReader(paths), runs.MapReader(paths)
        while message.names:
            for read in (reader.read, maps.read):
                found = await asyncio.to_thread(read)
                if found is not None:
                    outbox.put(found)
            await asyncio.sleep(CURVES_S)
    except Refusal as error:
        _refuse(outbox, str(error))
    except Exception as error:
        _refuse(outbox, describe_fault(error))


def _look_up(message: messages.Describe | messages.Runs, places: Places) -> dict[str, Any]:
    """Answer what needs no session: such an answer is there while sessions still import."""
    from training.studio import forms, runs  # which the first page does not wait for

    try:
        if isinstance(message, messages.Runs):
            return {"kind": "runs", "runs": runs.listed(places)}
        return forms.describe(message.env, places)
    except (FastEnvError, OSError) as error:
        return {"kind": "refused", "text": str(error)}
    except Exception as error:
        return {"kind": "refused", "text": describe_fault(error)}


async def _receive(socket: WebSocket, outbox: Outbox, worker: Worker, places: Places) -> None:
    """Take what the client says, until it has left."""
    curves = asyncio.create_task(asyncio.sleep(0))
    try:
        while True:
            event = await socket.receive()
            if event["type"] == "websocket.disconnect":
                return
            data = event.get("text")
            try:
                message = messages.parse(data if data is not None else event.get("bytes") or b"")
            except Refusal as error:
                _refuse(outbox, str(error))
                continue
            except Exception as error:
                _refuse(outbox, describe_fault(error))
                continue
            if isinstance(message, messages.Ack):
                outbox.acknowledge(message.number)
            elif isinstance(message, messages.Describe | messages.Runs):
                outbox.put(await asyncio.to_thread(_look_up, message, places))
                if isinstance(message, messages.Describe):
                    worker.put(message)
            elif isinstance(message, messages.Curves):
                curves.cancel()
                curves = asyncio.create_task(_follow(message, outbox, places))
            elif not worker.put(message):
                _refuse(outbox, "too many messages wait: slow down.")
    except (WebSocketDisconnect, RuntimeError, OSError):
        return
    finally:
        curves.cancel()


# -- serving ---------------------------------------------------------------------------------------


class PortError(FastEnvError, OSError):
    """The port cannot be had."""


def bind(port: int) -> sockets.socket:
    """Return a socket of this machine alone.

    Raises
    ------
    PortError
        If another program has the port.
    """
    listening = sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM)
    listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
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
        ws_max_size=messages.MAX_BYTES,
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
