"""The page of the studio says what the models say, and what was measured."""

import re
import runpy

import pytest

from tests.tables import walk
from training.run import machine
from training.studio import messages

PAGE = machine.ROOT / "docs" / "reference" / "studio.md"


def test_tables_are_those_of_the_models_and_of_the_record():
    with_tables = runpy.run_path(str(machine.ROOT / "docs" / "generate.py"))["with_tables"]
    text = PAGE.read_text(encoding="utf-8")
    assert with_tables("reference/studio.md") == text, "run python docs/generate.py"


def test_the_schema_names_every_message_and_refuses_what_is_left_over():
    schema = messages.json_schema()
    kinds = set(schema["discriminator"]["mapping"])
    assert kinds == {kind for kind, _, _ in messages.message_rows()}
    for model in schema["$defs"].values():
        assert model["additionalProperties"] is False
    for kind, fields, about in messages.message_rows():
        assert about, kind
        assert all(text or name in ("on", "lane", "format") for name, text in fields), kind


@walk(
    ("text", "said"),
    [
        ("[]", "message: "),
        ('{"kind": "act"}', "message act.action: Field required."),
        ('{"kind": "act", "action": "1"}', "message act.action: "),
        ('{"kind": "act", "action": 1, "x": 2}', "message act.x: "),
        ('{"kind": "go", "branch": -1, "index": 0}', "message go.branch: "),
        ('{"kind": "run", "on": true, "speed": NaN}', "a message must be one object of JSON."),
    ],
)
def test_what_is_wrong_with_a_message_is_named(text, said):
    with pytest.raises(messages.Refusal, match="^" + re.escape(said)):
        messages.parse(text)


def test_what_json_has_not_becomes_null():
    sent = messages.dump({"kind": "view", "a": [float("nan"), float("inf"), 1.5]})
    assert sent == '{"kind":"view","a":[null,null,1.5]}'


def test_messages_to_clients_are_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    sources = (machine.ROOT / "training" / "studio").glob("*.py")
    said = "".join(path.read_text(encoding="utf-8") for path in sources)
    kinds = set(re.findall(r'"kind": "(\w+)"', said))
    assert kinds - {"view"} <= set(re.findall(r"`(\w+)`", text))
