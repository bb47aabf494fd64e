"""Config files and ``--set``: whatever they hold, there is a config or one sentence."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from fastenv.errors import ConfigError
from tests.tables import walk
from training.run import config_files
from training.run.config import RunConfig
from training.run.config_files import load_file, parse_assignments
from training.run.option_layers import merge_layers, parser

UGLY = {
    "seed: 2024-99-99": "seed='2024-99-99' is not possible: seed must be an integer",
    "seed: 2024-01-02": "seed='2024-01-02' is not possible: seed must be an integer",
    f"seed: {'9' * 5000}": "line 1 has an integer beyond 64 bits",
    f"seed: 0x{'f' * 5000}": "line 1 has an integer beyond 64 bits",
    f"seed: {':'.join(['1'] * 500)}": "line 1 has an integer beyond 64 bits",
    "seed: 0b_": "is no YAML",
    f"seed: {'[' * 5000}": "line 1 is nested more than 32 levels deep",
    f"env_options:\n  {'{a: ' * 5000}": "line 2 is nested more than 32 levels deep",
    "- " * 5000: "line 1 is nested more than 32 levels deep",
    "env_options: &a\n  b: *a": "line 2 has an alias (*)",
    "env_options: !!set {a, b}": "line 1 has the tag tag:yaml.org,2002:set",
    "env_options: {a: !!binary aGFsbG8=}": "line 1 has the tag tag:yaml.org,2002:binary",
    "seed: !!int x": "line 1 has the tag",
    "seed: !!python/object:os.system {}": "line 1 has the tag",
    "ppo: {gamma: .nan}": "line 1 has a number that is not finite",
    "ppo:\n  gamma: -.inf": "line 2 has a number that is not finite",
    "ppo: {gamma: 1.0e+999}": "line 1 has a number that is not finite",
    "ppo: {gamma: 1e999}": "ppo.gamma='1e999' is not possible: ppo.gamma must be a finite number",
    "ppo: {gamma: nan}": "ppo.gamma",
    "env_options: {a: 1}\nenv_options: {b: 2}": "line 2 has 'env_options' a second time",
    "env_options: {1: 2}": "line 1 has a key that is no text",
    "env_options: {off: 2}": "line 1 has a key that is no text",
    "env_options: {? [a] : 2}": "line 1 has a key that is no text",
    "seed: 1\n---\nseed: 2": "is no YAML, but found another document",
    'name: "\\UFFFFFFFF"': "is no YAML",
    "name: \x07": "the character at position 6 is not allowed",
    "preset: [worker]": "preset=['worker']: there are ",
    "without_core: [1]": "without_core=[1] is not possible",
    "": "must hold a mapping",
}


def read_config(path):
    return merge_layers(parser().parse_args(["--config", str(path)]), {})


def refused(path):
    with pytest.raises(ConfigError) as error:
        read_config(path)
    said = str(error.value)
    assert "\n" not in said
    assert len(said) < 600
    return said


@walk("text", UGLY, ids=range(len(UGLY)))
def test_file_of_more_than_plain_values_is_refused_in_one_sentence(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text)
    said = refused(path)
    assert UGLY[text] in said
    assert "c.yaml" in said or said.startswith(UGLY[text])


def test_file_that_is_too_long_or_no_text_is_refused(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("# a comment\n" * 30_000)
    assert "c.yaml has 360,000 bytes, at most 262,144 are allowed" in refused(path)
    path.write_bytes(b"seed: \xff")
    assert "c.yaml is not UTF-8 text" in refused(path)
    assert "is a folder, must be a regular file" in refused(tmp_path)
    assert "is a device, must be a regular file" in refused("/dev/zero")


@walk(
    ("text", "says"),
    [
        (f"seed={'9' * 5000}", "line 1 has an integer beyond 64 bits"),
        (f"seed={'[' * 5000}", "more than 32 levels deep"),
        (f"env_options.{'a.' * 5000}a=1", "must be option=value"),
        ("ppo..gamma=1", "must be option=value"),
        ("gate=!!set {a}", "has the tag"),
        ("gate={a: .inf}", "not finite"),
        ("seed=" + "a" * 300_000, "longer than 256 KiB"),
    ],
)
def test_assignment_of_more_than_plain_values_is_refused_in_one_sentence(text, says):
    with pytest.raises(ConfigError, match=r"^--set '") as error:
        parse_assignments([text])
    assert says in str(error.value)
    assert len(str(error.value)) < 600


def test_plain_values_are_what_they_look_like():
    text = """
    texts: [a, "1", 2024-01-02, ~x, "", <<, =]
    numbers: [1, -2, 1_000_000, 0x10, 0.5, -1.5e+3]
    words: [true, off, null, ~]
    """
    assert config_files.parse_yaml(text, "text") == {
        "texts": ["a", "1", "2024-01-02", "~x", "", "<<", "="],
        "numbers": [1, -2, 1_000_000, 16, 0.5, -1500.0],
        "words": [True, False, None, None],
    }


@walk("value", [{"a": float("nan")}, {"a": {1}}, {"a": b""}, {1: 2}, {"a": [float("inf")]}])
def test_options_of_any_values_take_plain_ones_alone(value):
    for name in ("env_options", "trackers", "gate"):
        with pytest.raises(ConfigError, match=f"^{name}="):
            RunConfig.from_mapping({name: value})


SIGNS = st.sampled_from([*"[]{}:,-#&*!|>'\"%@`?\n\t =<._019aex~", "!!", "\n  ", ": ", "- "])
WORDS = st.sampled_from(
    ["seed", "ppo", "gamma", "schedules", "env_options", "null", "off", ".inf", "2024-01-01", "0x"]
)
TEXTS = st.lists(st.one_of(SIGNS, WORDS, st.characters())).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
@example(text="0b_")
@example(text="{? 1}")
def test_whatever_is_written_only_config_errors_come_out(tmp_path, text):
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    with suppress(ConfigError):
        json.dumps(load_file(path), allow_nan=False)
        read_config(path).sha256()
    for read in (
        lambda: parse_assignments([text]),
        lambda: parse_assignments([f"seed={text}"]),
        lambda: parse_assignments([f"env_options.a={text}"]),
    ):
        try:
            values = read()
            json.dumps(values, allow_nan=False)
            RunConfig.from_mapping(values).sha256()
        except ConfigError:
            continue


@settings(max_examples=60)
@given(name=st.sampled_from(["seed", "ppo", "schedules", "env_options", "name"]), value=VALUES)
def test_whatever_is_given_only_config_errors_come_out(name, value):
    for values in ({name: value}, {"ppo": {"gamma": value}}, {"trackers": {"visits": value}}):
        try:
            RunConfig.from_mapping(values).sha256()
        except ConfigError:
            continue
