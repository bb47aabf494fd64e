"""Who may come in, and what comes of messages and rows from strangers."""

import base64
import builtins
import http.client
import json
import os
import shutil
import threading
import zlib
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.tables import walk
from tests.training.studio.conftest import AGENT
from tests.training.studio.mutating import mutated
from training.studio import kept, messages, seating
from training.studio.messages import Refusal
from training.studio.places import Places, check_options


def get(studio, path="/", host=None, token=True, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=10)
    headers["Host"] = host or f"127.0.0.1:{studio.port}"
    if token:
        headers["Authorization"] = f"Bearer {studio.token if token is True else token}"
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    connection.close()
    return answer, text


def test_it_listens_on_this_machine_alone_and_says_where(studio):
    assert studio.url.startswith(f"http://127.0.0.1:{studio.port}/#token=")
    assert len(studio.token) >= 32


PUBLIC = [
    *("/", "/page/app.js", "/game/SkullKingFlat-v0/page.js"),
    *("/game/SkullKingFlat-v0/rules", "/game/SkullKingFlat-v0/picture"),
]
SECRET = ["/film/x", "/report?runs=x", "/moment/x"]
UNKNOWN = [{"token": False}, {"token": "wrong"}]
ELSEWHERE = [
    {"host": "evil.example"},
    {"host": "127.0.0.1:1"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
]


@walk(
    ("path", "how"),
    [
        *((path, how) for path in SECRET for how in (*UNKNOWN, *ELSEWHERE)),
        *((path, how) for path in PUBLIC for how in ELSEWHERE),
    ],
    ids=str,
)
def test_strangers_are_refused_in_a_sentence(studio, path, how):
    answer, text = get(studio, path, **how)
    assert answer.status == 403
    assert text.count(".") >= 1
    assert text.startswith("The studio ")
    assert len(text.splitlines()) == 1


@walk("path", [*PUBLIC, *SECRET, "/?token={token}"])
def test_no_other_server_of_this_machine_is_sent_the_token(studio, path):
    """A cookie would be: browsers tell hosts apart by their names, and not by their ports."""
    answer, text = get(studio, path.format(token=studio.token))
    assert "Set-Cookie" not in answer.headers
    assert studio.token not in text
    cookie = f"studio-{studio.port}={studio.token}"
    answer, text = get(studio, path, token=False, Cookie=cookie)
    assert (answer.status == 403) == (path in SECRET)


@walk("path", PUBLIC)
def test_files_of_the_page_need_no_token_and_hold_none(studio, path):
    answer, text = get(studio, path, token=False)
    assert answer.status == 200
    assert studio.token not in text


def test_pages_load_nothing_from_elsewhere(studio):
    answer, text = get(studio)
    assert answer.status == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "://" not in text
    for path in Path(__file__).parents[3].glob("training/**/*.js"):
        found = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
        assert "http://" not in found, path
        assert "https://" not in found, path


@walk(
    "path",
    [
        *("/page/../server.py", "/page/..%2fserver.py", "/page/%2e%2e/server.py", "/page/x.py"),
        *(
            "/page//etc/passwd",
            "/game/../page.js",
            "/game/nothing/page.js",
            "/game/nothing/rules",
            "/game/../picture",
            "/film/../../x",
        ),
        *(
            "/moment/../config",
            "/moment/..%2f..%2fREADME",
            "/report?runs=../..",
            "/report?runs=/etc",
        ),
    ],
)
def test_paths_lead_nowhere_else(studio, path):
    answer, text = get(studio, path)
    assert answer.status == 404
    assert "root:" not in text


@walk("how", ["token", "origin", "no origin", "port"])
def test_sockets_of_strangers_are_refused(studio, how):
    token = "wrong" if how == "token" else studio.token
    origin = "http://evil.example" if how == "origin" else f"http://127.0.0.1:{studio.port}"
    origin = "http://127.0.0.1:1" if how == "port" else origin
    with (
        pytest.raises(InvalidStatus, match="403"),
        connect(
            f"ws://127.0.0.1:{studio.port}/session?token={token}",
            origin=None if how == "no origin" else origin,
        ),
    ):
        pass


def test_a_socket_of_another_host_is_refused(studio):
    wanted = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    wanted |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": "http://evil.example"}
    answer, _ = get(studio, "/session", host="evil.example", **wanted)
    assert answer.status == 403


def talk(studio):
    return connect(
        f"ws://127.0.0.1:{studio.port}/session?token={studio.token}",
        origin=f"http://127.0.0.1:{studio.port}",
        max_size=None,
    )


def test_a_socket_answers_nonsense_in_a_sentence_and_goes_on(studio):
    with talk(studio) as socket:
        assert json.loads(socket.recv(10))["kind"] == "hello"
        stranger = '{"kind": "curves", "names": ["../x"]}'
        for nonsense in ("", "[]", b"\xff\xfe", "{", '{"kind": "no"}', "[" * 100_000, stranger):
            socket.send(nonsense)
            said = json.loads(socket.recv(10))
            assert said["kind"] == "refused"
            assert said["text"].endswith(".")
        socket.send(json.dumps({"kind": "describe", "env": "Prospector-v0"}))
        assert json.loads(socket.recv(60))["env"] == "Prospector-v0"


def test_a_run_of_a_stranger_closes_nobodys_session(studio):
    folder = studio.places.runs / "strange"
    (folder / "checkpoints").mkdir(parents=True)
    config = {"env": "SkullKingFlat-v0", "trainer": ["native"], "total_steps": "12"}
    (folder / "config.json").write_text(json.dumps({"config": config, "created": [1]}))
    (folder / "summary.json").write_text('{"steps": "12", "status": {}}')
    (folder / "metrics.jsonl").write_text("[" * 2000 + '\n{"step": ' + "9" * 400 + "}\n")
    try:
        with talk(studio) as socket:
            socket.recv(10)
            socket.send(json.dumps({"kind": "describe", "env": "SkullKingFlat-v0"}))
            assert "strange" in json.loads(socket.recv(60))["agents"]
            socket.send(json.dumps({"kind": "runs"}))
            entry = {each["name"]: each for each in of_kind(socket, "runs")["runs"]}["strange"]
            assert (entry["trainer"], entry["steps"], entry["status"]) == ("native", None, None)
            socket.send(json.dumps({"kind": "curves", "names": ["strange"]}))
            notes = " ".join(of_kind(socket, "curves")["sections"][0]["notes"])
            assert "metrics.jsonl: 2 lines are left out" in notes
            assert "trainer=['native'] is left out" in notes
        answer, text = get(studio, "/report?runs=strange")
        assert answer.status == 200
        assert "summary.json: steps='12' is left out, for it must be a whole number" in text
    finally:
        shutil.rmtree(folder)


def of_kind(socket, kind):
    """Return the next message of a kind."""
    while (said := json.loads(socket.recv(60)))["kind"] != kind:
        assert said["kind"] != "refused", said
    return said


class Unforeseen(Exception):
    """A fault of a kind that nobody has thought of."""


def fail(*_args, **_options):
    raise Unforeseen


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("training.studio.forms.describe", {"kind": "describe", "env": "SkullKingFlat-v0"}),
        ("training.studio.runs.listed", {"kind": "runs"}),
        ("training.studio.runs.CurveReader.read", {"kind": "curves", "names": [AGENT]}),
        ("training.studio.messages.parse", {"kind": "runs"}),
        ("training.studio.server.Studio._make_session", {"kind": "keep"}),
        ("training.studio.session.ClientSession.due", {"kind": "keep"}),
        ("training.studio.session.ClientSession.handle", {"kind": "keep"}),
    ],
)
def test_a_fault_that_nobody_foresaw_is_answered(studio, monkeypatch, capfd, broken, message):
    monkeypatch.setattr(broken, fail)
    with talk(studio) as socket:
        socket.recv(10)
        socket.send(json.dumps(message))
        said = refusal(socket)
        assert said == "that went wrong (Unforeseen): the terminal of the studio says more."
    assert "Unforeseen" in capfd.readouterr().err


def test_a_fault_is_told_where_no_terminal_is_left(monkeypatch, tmp_path):
    with open(tmp_path / "gone", "w", encoding="utf-8") as gone:
        pass
    monkeypatch.setattr("sys.stderr", gone)
    assert messages.describe_fault(Unforeseen()).startswith("that went wrong (Unforeseen)")


def refusal(socket):
    while (said := json.loads(socket.recv(60)))["kind"] != "refused":
        pass
    return said["text"]


def test_what_cannot_be_sent_is_told(studio, monkeypatch):
    monkeypatch.setattr("training.studio.runs.listed", lambda _: [object()])
    with talk(studio) as socket:
        socket.recv(10)
        socket.send('{"kind": "runs"}')
        assert refusal(socket).startswith("that went wrong (TypeError)")


def test_a_report_with_a_fault_is_answered_in_a_sentence(studio, monkeypatch):
    monkeypatch.setattr("training.studio.report.page", fail)
    answer, text = get(studio, f"/report?runs={AGENT}")
    assert answer.status == 500
    assert text.startswith("That went wrong (Unforeseen): ")


def test_what_takes_longer_is_told_once_a_second(studio, monkeypatch):
    """Compiling for a first game takes half a minute: the page must not look as if it were dead."""
    release, original = threading.Event(), seating.make_game_table

    def slow(*args):
        assert release.wait(60)
        return original(*args)

    monkeypatch.setattr("training.studio.session.make_game_table", slow)
    monkeypatch.setattr("training.studio.server.BUSY_S", 0.2)
    with talk(studio) as socket:
        socket.recv(10)
        begin = {"kind": "begin", "env": "SkullKingFlat-v0", "players": ["person"], "seed": 1}
        socket.send(json.dumps(begin))
        while (said := of_kind(socket, "busy"))["text"] != "Preparing the game":
            pass
        assert said["seconds"] >= 1
        assert of_kind(socket, "busy")["seconds"] >= said["seconds"]
        release.set()
        assert of_kind(socket, "table")["env"] == "SkullKingFlat-v0"
        while of_kind(socket, "busy")["seconds"]:
            pass


def test_sessions_come_to_an_end_with_their_sockets(studio):
    for _ in range(3):
        with talk(studio) as socket:
            socket.recv(10)
    with talk(studio) as socket:
        socket.recv(10)
        assert studio.sessions <= 4


@pytest.fixture
def opened(monkeypatch):
    """Note every file that is opened to be read."""
    names, original = [], builtins.open

    def note(file, *args, **kwargs):
        names.append(str(file))
        return original(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", note)
    monkeypatch.setattr("io.open", note)
    return names


def parse(text):
    """Return a message, or what is wrong with it."""
    try:
        return messages.parse(text)
    except Refusal as error:
        return error


def check_sentence(text):
    assert len(text) <= 1000
    assert "\n" not in text
    assert "root:" not in text


def send_all(asked, texts):
    """Hand broken messages to a session; return how many were refused."""
    refused = 0
    for text in texts:
        message = parse(text)
        if isinstance(message, Refusal):
            refused += 1
            check_sentence(str(message))
            continue
        if message.kind in ("ack", "runs", "curves"):
            continue
        if message.kind == "begin":
            message.lanes = min(message.lanes, 2)
        if message.kind == "prove":
            message.steps = 1
        first = len(asked.said)
        asked.session.handle(message)
        asked.session.stop()
        asked.listen()
        said = [each["text"] for each in asked.said[first:] if each["kind"] == "refused"]
        refused += bool(said)
        for sentence in said:
            check_sentence(sentence)
        del asked.said[:]
    return refused


def check_opened(names):
    for name in names:
        path = os.path.realpath(name)
        assert "/etc/passwd" not in path
        assert not path.endswith("README.md")


def test_mutated_messages_are_refused_and_read_nothing(asked, opened):
    assert send_all(asked, mutated(400)) > 150
    check_opened(opened)


@pytest.mark.slow
def test_ten_thousand_mutated_messages(asked, opened):
    assert send_all(asked, mutated(10_000, seed=6)) > 4000
    check_opened(opened)


@walk(
    "name",
    [
        *("..", "../x", "/etc/passwd", "pretrained/..", "pretrained/../README.md", "a/../../b"),
        *(
            "search:../x",
            "search:heuristic,value=x",
            "pretrained/",
            "pretrained",
            "./x",
            "x\0y",
            "",
        ),
        "lookahead:/etc/passwd",
    ],
)
def test_names_of_players_stay_inside(places, name):
    with pytest.raises(Refusal):
        places.check_player(name, ["heuristic"])


def test_links_that_lead_outside_are_no_runs(tmp_path):
    runs, outside = tmp_path / "runs", tmp_path / "outside"
    runs.mkdir()
    outside.mkdir()
    (outside / "config.json").write_text("{}")
    (runs / "link").symlink_to(outside)
    with pytest.raises(Refusal):
        Places(runs, tmp_path).find("link")


@walk(
    "options",
    [
        {"rom": "/etc/passwd"},
        {"rom": "README.md"},
        {"states": "../x"},
        {"x": {"y": ["a/b"]}},
        {"a b": 1},
        {"__class__.x": 1},
    ],
    ids=str,
)
def test_options_name_no_files(options):
    with pytest.raises(Refusal):
        check_options(options)


def test_rows_from_strangers_are_checked_at_the_door(asked, places):
    asked.ask("begin", env="SkullKingFlat-v0", players=["person"], seed=1)
    name = asked.ask("keep")["kept"]["hash"]
    good = json.loads((places.kept / f"{name}.json").read_text())
    assert "view" in asked.ask("load", moment=good)
    row = bytearray(kept.read(good).row)

    def again(**changes):
        record = {**good, **changes}
        try:
            data = zlib.decompress(base64.b64decode(record["row"]))
            moment = kept.KeptMoment(record["env"], record["options"], record["players"], data)
            record["hash"] = moment.hash  # strangers can compute it too
        except (ValueError, TypeError, zlib.error):
            pass
        return asked.ask("load", moment=record)["refused"]["text"]

    def packed(data):
        return base64.b64encode(zlib.compress(bytes(data))).decode()

    wrong = bytearray(row)
    wrong[-100:] = b"\x7f" * 100
    assert "row 0" in again(row=packed(wrong)) or "lane 0" in again(row=packed(wrong))
    assert "536" in again(row=packed(row[:-1]))
    assert "unpacked" in again(row="!!")
    assert "1048576 bytes" in again(row=packed(b"\0" * (2 << 20)))
    assert "files are not read" in again(options={"deck": "/etc/passwd"})
    assert again(env="nothing")
    assert asked.ask("load", moment={**good, "hash": "0" * 64})["refused"]["text"].endswith("row.")
    assert "must have" in asked.ask("load", moment={**good, "more": 1})["refused"]["text"]
    assert asked.ask("open", hash="1" * 64)["refused"]["text"].endswith("kept here.")
