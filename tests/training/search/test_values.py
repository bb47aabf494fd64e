"""Value networks of search: files, what they add to rollouts, and how they learn."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import fastenv
from fastenv.errors import ConfigError
from tests.tables import walk
from training.run import games
from training.search import values
from training.search.options import SearchOptions
from training.search.rules import SearchRules
from training.search.searcher import Searcher
from training.search.values import Closing, Head, Value

FLAT = "SkullKingFlat-v0"


def any_value(inputs=3, outputs=2, hidden=(5, 4), unit=10.0, env="Nim-v0"):
    torch.manual_seed(0)
    head = Head(env=env, inputs=inputs, outputs=outputs, hidden=hidden, unit=unit)
    return Value(head, head.net())


def test_a_file_holds_the_network(tmp_path):
    value, seen = any_value(), np.random.default_rng(0).random((7, 3), np.float32)
    value.save(tmp_path / "value.safetensors")
    again = values.load(tmp_path / "value.safetensors")
    assert again.head == value.head
    np.testing.assert_array_equal(again(seen), value(seen))


@pytest.mark.parametrize("break_it", ["text", "format", "shape", "nan", "head", "missing"])
def test_refuses_other_files(tmp_path, break_it):
    path, value = tmp_path / "value.safetensors", any_value()
    tensors = dict(value.net.state_dict())
    head = {"format": values.FORMAT, "head": json.dumps(value.head.to_dict())}
    if break_it == "format":
        head["format"] = "other"
    if break_it == "head":
        head["head"] = json.dumps({**value.head.to_dict(), "inputs": -1})
    if break_it == "shape":
        tensors["0.weight"] = torch.zeros(5, 4)
    if break_it == "nan":
        tensors["0.bias"] = torch.full((5,), torch.nan)
    if break_it == "text":
        path.write_text("no tensors")
    elif break_it != "missing":
        save_file(tensors, path, head)
    with pytest.raises(ConfigError):
        values.load(path)


def test_closing_adds_gains_where_rollouts_still_run():
    value = any_value()
    seen = np.random.default_rng(1).random((2, 3), np.float32)
    seats = np.array([[1, 0], [0, 1]])
    closing = Closing(value, lambda rows: (np.array([True, False, True]), seen, seats))
    outcomes = np.arange(6.0).reshape(3, 2)
    gains = value(seen)
    closed = closing(outcomes, np.zeros(3))
    np.testing.assert_allclose(closed[0], outcomes[0] + gains[0, ::-1])
    np.testing.assert_array_equal(closed[1], outcomes[1])
    np.testing.assert_allclose(closed[2], outcomes[2] + gains[1])


def test_fit_learns_a_line():
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(4096, 3)).astype(np.float16)
    gained = seen.astype(np.float32) @ np.array([[10, -5], [0, 5], [20, 0]], np.float32)
    value = any_value(hidden=(32,))
    values.fit(value, seen, gained, epochs=20, batch_size=64, learning_rate=3e-3)
    error = value(seen.astype(np.float32)) - gained
    assert (error**2).mean() < 0.02 * gained.var()


@walk("hidden", [(0,), (9000,), (4,) * 9])
def test_refuses_impossible_networks(hidden):
    with pytest.raises(ConfigError, match=r"value\.hidden"):
        Head(env="Nim-v0", inputs=3, outputs=2, hidden=hidden)


def test_the_searcher_refuses_what_does_not_fit(tmp_path):
    path = tmp_path / "value.safetensors"
    any_value().save(path)
    options = SearchOptions(value=str(path), horizon="tricks=1")
    engine = fastenv.make_engine(FLAT, 1, seats="all")
    with pytest.raises(ConfigError, match=r"search\.value"):
        Searcher(engine, options=options)
    assert games.find("Prospector-v0", "search").view is SearchRules().view is None
