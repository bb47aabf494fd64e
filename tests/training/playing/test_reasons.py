"""Reasons in words name the chosen action, the next best two, and how far they are."""

import numpy as np

from training.players.player import Thought
from training.playing.decision import explain_probabilities, explain_thought


def name(action):
    return f"bid {action}"


def thought(means, errors=None, chosen=2, unit="points"):
    n = len(means)
    errors = np.full(n, np.nan) if errors is None else np.array(errors)
    worlds = np.where(np.isfinite(means), 8, 0)
    wanted = np.full(n, np.nan)
    return Thought(
        np.arange(n), np.array(means), errors, worlds, wanted, chosen, 1.0, True, "8", unit
    )


def test_a_search_names_the_best_three_and_how_far_they_are():
    of = thought([-8.0, 1.25, 12.5, 9.0, -np.inf], [3.0, 1.4, 1.0, 0.75, np.nan])
    assert explain_thought(of, name) == (
        "bid 2: 12.5 points, the mean of 8 worlds. bid 3 is 3.5 ± 0.75 less and "
        "bid 1 is 11 ± 1.4 less."
    )


def test_a_better_mean_within_its_error_is_named():
    said = explain_thought(thought([13.0, 12.0, 12.5], [1.0, 1.0, 1.0]), name)
    assert "bid 0 is 0.5 ± 1 more and bid 1 is 0.5 ± 1 less." in said
    assert said.endswith("That is too close to change the own choice.")


def test_errors_and_units_that_are_not_known_are_left_out():
    assert explain_thought(thought([1.0, 1.0, 1.0], unit=""), name) == (
        "bid 2: 1, the mean of 8 worlds. bid 0 is equal and bid 1 is equal."
    )


def test_without_a_search_there_is_no_reason():
    assert explain_thought(thought([-np.inf] * 3), name) == ""
    assert explain_thought(thought([1.0], chosen=7), name) == ""


def test_a_network_names_its_three_most_probable_actions():
    chances = np.array([0.05, 0.25, 0.62, 0.079, 0.001])
    said = explain_probabilities(chances, 2, name)
    assert said == "The network plays bid 2 with 62 %, bid 1 with 25 % and bid 3 with 8 %."
    assert explain_probabilities(np.array([0.0, 1.0]), 1, name) == (
        "The network plays bid 1 with 100 %."
    )
    drawn = explain_probabilities(np.array([0.9, 0.1]), 1, name)  # not its best
    assert drawn == "The network plays bid 1 with 10 % and bid 0 with 90 %."
    assert explain_probabilities(np.full(3, np.nan), 1, name) == ""
