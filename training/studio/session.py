"""One client's session: a game, its timeline, and its view.

Nothing here waits: :mod:`training.studio.worker` calls it in a thread, with messages and when
something is due.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from fastenv.errors import FastEnvError, InvalidActionError
from fastenv.registry import short_id
from training.logs import film as writer
from training.playing.game_table import GameTable
from training.playing.session import GameSession
from training.run import files
from training.run.options import require
from training.studio import forms, kept, messages, prove, tiles, timeline
from training.studio.messages import Refusal
from training.studio.outbox import VIEW, Outbox
from training.studio.places import PERSON, Places
from training.studio.seating import make_game_table, seat_again
from training.studio.show import Shown
from training.studio.thought import Thinker, find_adviser

AT_ONCE_S = 1 / 60  # of decisions as fast as it goes, before they are shown
TIMELINE_S = 0.5  # between messages about it while it runs
_PREPARED: set[str] = set()  # environments of which a game was made
LATE_S = 0.1  # frames that a game is behind are left out
MAX_PICTURES = 600  # of a film
MAX_LINES = 300  # of what was said on the way to a moment


class ClientSession:
    """The session of a client: it handles messages and sends views.

    Parameters
    ----------
    places : Places
    outbox : Outbox
    link : callable
        Returns the link that opens the moment of a hash.
    film : callable
        Takes a film and its format; returns the link that downloads it.
    """

    def __init__(
        self,
        places: Places,
        outbox: Outbox,
        link: Callable[[str], str],
        film: Callable[[bytes, str], str],
    ) -> None:
        self._places, self._outbox, self._link, self._film = places, outbox, link, film
        self._game: GameSession | None = None
        self._running, self._speed, self._due = False, 4.0, 0.0
        self._timeline_sent = 0.0
        self._held: list[str] = []
        self._tapped: list[str] = []
        self._shown: Shown | None = None
        self._thinker = Thinker(places)
        self._adviser: str | None = None  # by default
        self._tiles: tiles.Tiles | None = None
        self._prover: prove.Prover | None = None

    # -- what is due -----------------------------------------------------------------------------

    def due(self) -> float | None:
        """Return when something must happen next, by ``time.monotonic``; None for nothing."""
        if self._prover is not None:
            return 0.0
        return self._due if self._running else None

    def tick(self) -> None:
        """Do what is due."""
        now = time.monotonic()
        if self._prover is not None:
            message = self._prover.advance()
            self._outbox.put(message)
            if message["done"]:
                self._prover = None
        if self._running and now >= self._due:
            try:
                self._move(now)
            except FastEnvError as error:  # such as a timeline that is full
                self.stop()
                self.refuse(str(error))

    def _move(self, now: float) -> None:
        """Take the decisions that are due."""
        frame = self._frame_time()
        pause = frame if frame is not None else (1 / self._speed if self._speed else 0.0)
        self._due = max(self._due + pause, now - LATE_S)
        if self._tiles is not None:
            self._tiles.advance(now + AT_ONCE_S if not self._speed else None)
            if not self._outbox.is_waiting:
                self._show()
            return
        while self._running:
            if not self._advance():
                break
            if frame is not None and self._game is not None and self._game.has_pending:
                continue  # all decide in the same frame
            if self._speed or frame is not None or time.monotonic() > now + AT_ONCE_S:
                break
        if frame is not None or not self._outbox.is_waiting or not self._running:
            self._show()
        if not self._running or now - self._timeline_sent > TIMELINE_S:
            self._tell_timeline(now)

    def _tell_timeline(self, now: float) -> None:
        if self._game is not None and self._tiles is None:
            self._timeline_sent = now
            self._outbox.put(timeline.describe(self._game.history))

    def _tell_log(self) -> None:
        """Send the lines of the log up to the moment that is shown."""
        if self._game is not None and self._tiles is None:
            self._outbox.put({"kind": "log", "lines": self._game.history.lines(MAX_LINES)})

    def _frame_time(self) -> float | None:
        """Return the seconds of a frame where a game does not wait for a person; else None."""
        shown = self._shown
        return None if shown is None else shown.frame_time

    def _advance(self) -> bool:
        """Let the player whose turn it is decide; return False where a person has yet to."""
        game, shown = self._require_single()
        if game.over:
            self._running = False
            return False
        if game.waits:
            action = shown.held_action(self._held, self._tapped)
            self._tapped.clear()
            if action is None:
                self._running = False
                return False
            self._decide(action)
            return True
        # In real time probabilities of a network would cost a second pass a frame.
        game.weighs = self._thinker.on and shown.frame_time is None
        self._thinker.hear(game)
        self._decide(None)
        return True

    def _decide(self, action: int | None) -> None:
        """Take a decision, a person's or with None that of the player whose turn it is."""
        game, shown = self._require_single()
        before, game.says = game.moment, shown.frame_time is None
        if action is None:
            game.step()
        else:
            game.decide(action)
        if game.moment is before:  # others decide at the same time
            shown.forget_steering()
            return
        shown.hear()
        if game.over:
            self._running = False

    # -- messages --------------------------------------------------------------------------------

    def handle(self, message: Any) -> None:
        """Do what a client asks for; refusals are answered in a sentence."""
        try:
            getattr(self, f"_on_{message.kind}")(message)
        except (FastEnvError, OSError, ImportError) as error:
            self.refuse(str(error))

    def refuse(self, text: str) -> None:
        """Send the client the reason why a request is refused."""
        self._outbox.put({"kind": "refused", "text": " ".join(text.split())[:1000]})

    def stop(self) -> None:
        """Do nothing more by itself."""
        self._running, self._prover = False, None

    def _on_describe(self, message: messages.Describe) -> None:
        """Prepare an environment that is looked at: its first game then begins at once."""
        name = short_id(message.env)
        if name not in _PREPARED:
            _PREPARED.add(name)
            players = forms.agents_for(name, self._places)[:1] or [PERSON]
            with suppress(FastEnvError, OSError):  # who asks for such a game is told why not
                make_game_table(name, {}, players, 0, self._places).engine.reset_many(seeds=0)

    def _on_begin(self, message: messages.Begin) -> None:
        seed = secrets.randbelow(2**31) if message.seed is None else message.seed
        lanes = message.lanes
        table = make_game_table(
            message.env, message.options, message.players, seed, self._places, lanes
        )
        table.engine.reset_many(seeds=seed)
        table.begin()
        self._adopt(table, seed)
        # Others go on until a person must decide; who watches begins by a button.
        self._running = lanes == 1 and bool(table.persons) and not self._require_single()[0].waits
        self._due = time.monotonic()

    def _on_open(self, message: messages.Open) -> None:
        self._adopt(kept.seat(kept.find(message.hash, self._places), self._places, 0), None)

    def _on_load(self, message: messages.Load) -> None:
        self._adopt(kept.seat(kept.read(message.moment), self._places, 0), None)

    def _on_pick(self, message: messages.Pick) -> None:
        if self._tiles is None:
            raise Refusal("pick: there is only one game.")
        self._adopt(self._tiles.pick(message.lane, self._places), None)

    def _adopt(self, table: GameTable, seed: int | None) -> None:
        """Take a table as the game of this session."""
        if self._game is None or self._game.table.env != table.env:
            self._thinker.choose(self._thinker.on, None, self._thinker.opened)
        alone = table.engine.num_envs == 1
        self._game, self._prover = GameSession(table, branches=alone), None
        self._held.clear()
        self._tiles = None if alone else tiles.Tiles(self._game)
        self._shown = Shown(self._game)
        self._let_think(table)
        self._running, self._due = False, time.monotonic()
        self._tell_table(table, self._shown, seed)
        self._show()
        self._tell_timeline(self._due)

    def _let_think(self, table: GameTable) -> None:
        """Seat the adviser; why one cannot sit there is refused, or noted of one by default."""
        who = self._thinker.who
        try:
            self._thinker.sit(table)
        except FastEnvError as error:
            if who == self._adviser:
                self._thinker.note = str(error)
            else:
                self.refuse(str(error))

    def _tell_table(self, table: GameTable, shown: Shown, seed: int | None) -> None:
        """Send what a page must know of the game, and who advises by default."""
        self._adviser = find_adviser(table, shown, self._places)
        self._outbox.put(shown.table_message(seed, self._adviser))

    def _on_act(self, message: messages.Act) -> None:
        game, shown = self._require_single()
        if game.over:
            raise Refusal("the game is over: go back, or begin another one.")
        if not game.waits:
            raise Refusal(f"it is the turn of {game.table.names[int(game.seats[0])]}.")
        if not shown.is_legal(message.action):
            raise Refusal(shown.why_illegal(message.action))
        try:
            self._decide(message.action)
        except InvalidActionError:
            raise Refusal(shown.why_illegal(message.action)) from None
        self._follow()

    def _follow(self) -> None:
        """Show the view behind a person's decision, and let the others go on."""
        game, _ = self._require_single()
        self._show()
        self._tell_timeline(time.monotonic())
        if not game.over and not game.waits:
            self._running, self._due = True, time.monotonic()

    def _require_single(self) -> tuple[GameSession, Shown]:
        if self._game is None or self._shown is None or self._tiles is not None:
            raise Refusal("begin a game first, of one lane.")
        return self._game, self._shown

    def _on_key(self, message: messages.Key) -> None:
        game, shown = self._require_single()
        key = "\x7f" if message.key == "backspace" else message.key
        shown.serial = max(shown.serial, message.serial)
        if key in self._held:
            self._held.remove(key)
        if message.down:
            self._held.append(key)
            self._tapped.append(key)
        if not game.waits:
            return
        if shown.frame_time is not None:
            if message.down and not self._running:
                self._running, self._due = True, time.monotonic()
            return
        if message.down:
            action = shown.press(key)
            if action is None:
                self._show()
            else:
                self._decide(action)
                self._follow()

    def _on_run(self, message: messages.Run) -> None:
        if self._game is None:
            raise Refusal("begin a game first.")
        self._running, self._speed, self._due = message.on, message.speed, time.monotonic()
        if not message.on:
            self._held.clear()
            self._show()
            self._tell_timeline(self._due)

    def _on_go(self, message: messages.Go) -> None:
        game, shown = self._require_single()
        self._running = False
        game.history.go(message.branch, message.index)
        game.resume()
        shown.go()
        self._tell_log()
        self._show()
        self._tell_timeline(time.monotonic())

    def _on_take(self, message: messages.Take) -> None:
        game, shown = self._require_single()
        self._running = False
        seat_again(game.table, message.players, self._places, secrets.randbelow(2**31))
        game.moment.forget()
        self._let_think(game.table)
        shown.go()
        self._tell_table(game.table, shown, None)
        self._tell_log()
        self._show()

    def _on_keep(self, message: messages.Keep) -> None:
        name = kept.store(self._make_moment(), self._places)
        self._outbox.put({"kind": "kept", "hash": name, "link": self._link(name)})

    def _make_moment(self) -> kept.KeptMoment:
        table = self._require_single()[0].table
        row = table.engine.get_states([0]).tobytes()  # a copy of a record has other padding
        return kept.KeptMoment(table.env, dict(table.options), table.asked, row)

    def _on_think(self, message: messages.Think) -> None:
        self._thinker.choose(message.on, message.who, message.opened)
        if self._game is not None:
            self._let_think(self._game.table)
            self._show()

    def _on_film(self, message: messages.Film) -> None:
        data = make_film(self._require_single()[0], message, self._places)
        url = self._film(data, message.format)
        self._outbox.put({"kind": "film", "url": url, "bytes": len(data)})

    def _on_prove(self, message: messages.Prove) -> None:
        game, shown = self._require_single()
        require(not game.over, "prove", "here", "where the game is not over")
        self._prover = prove.Prover(game.engine, shown.row, message.steps)

    # -- showing ---------------------------------------------------------------------------------

    def _show(self) -> None:
        """Send how the game stands."""
        if self._game is None:
            return
        if self._tiles is not None:
            self._outbox.put(*self._tiles.view(self._running))
            return
        game, shown = self._require_single()
        where: dict[str, Any] = {
            "branch": game.history.branch,
            "index": game.history.index,
            "running": self._running,
        }
        if shown.frame_time is None:
            where["marked"] = timeline.find_last_marked(game.history)
        view, pixels = shown.view(where, opened=self._thinker.opened)
        self._outbox.put({"kind": VIEW, **view}, pixels)
        if self._thinker.on and (shown.frame_time is None or not self._running):
            self._outbox.put(self._thinker.message(game, shown))


def make_film(game: GameSession, message: messages.Film, places: Places) -> bytes:
    """Make the film of moments of the branch that is shown.

    Raises
    ------
    Refusal, FilmError
        If it cannot be made.
    """
    newest, rows = game.history.last, game.history.rows
    last = newest if message.last is None else min(message.last, newest)
    count = last - message.first + 1
    if count < 1:
        raise Refusal(f"film from {message.first} to {last}: there is nothing between them.")
    step = -(-count // MAX_PICTURES)
    with files.temporary_folder(places.kept) as folder:
        path = folder / f"film.{message.format}"
        writer.check(path)
        moments = range(message.first, last + 1, step)
        pictures = (np.asarray(game.table.draw(rows(k)[0], "rgb_array")) for k in moments)
        writer.write(path, pictures, message.fps)
        return path.read_bytes()
