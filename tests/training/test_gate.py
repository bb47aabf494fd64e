import json
import math

import numpy as np
import pytest

from fastenv import BatchEngine
from fastenv.errors import ConfigError
from tests.slow import every, together
from tests.tables import walk
from tests.toy import WalkGame
from training.callbacks.gate import (
    MAX_EPISODES,
    Gate,
    GateConfig,
    config_hash,
    yield_results,
)
from training.callbacks.sequential import EProcess, Sprt, confidence_sequence, level, log_mixture
from training.run.seeds import GATE_SEEDS, TRAINING_BIT
from training.run.weights import digest

# -- the tests -------------------------------------------------------------------------------------

# p0, p1, true p: share that passes and mean number of episodes, at most 2000, of Wald's test and of
# the e-process.
TABLE = [
    (0.90, 0.95, 0.850, (0.000, 55), (0.001, 1998)),
    (0.90, 0.95, 0.900, (0.042, 141), (0.036, 1934)),
    (0.90, 0.95, 0.925, (0.461, 248), (0.882, 909)),
    (0.90, 0.95, 0.950, (0.957, 162), (1.00, 209)),
    (0.90, 0.95, 0.980, (1.00, 75), (1.00, 70)),
    (0.80, 0.90, 0.800, (0.053, 65), (0.041, 1924)),
    (0.80, 0.90, 0.850, (0.446, 112), (0.999, 448)),
    (0.80, 0.90, 0.900, (0.959, 74), (1.00, 94)),
]
N_MAX, RUNS = 2000, 2000


def passing(test, n_max=N_MAX):
    """Fewest successes that pass after 1, 2, ..., n_max episodes; the count only grows with n."""
    fewest, s = np.empty(n_max, np.int64), 0
    for n in range(1, n_max + 1):
        while s <= n and test.verdict(s, n - s) != "pass":
            s += 1
        fewest[n - 1] = s
    return fewest


def failing(test, n_max=N_MAX):
    """Most successes that fail after 1, 2, ..., n_max episodes; -1 where none does."""
    most, s = np.empty(n_max, np.int64), -1
    for n in range(1, n_max + 1):
        while s + 1 <= n and test.verdict(s + 1, n - s - 1) == "fail":
            s += 1
        most[n - 1] = s
    return most


def successes(p, seed):
    outcomes = np.random.default_rng(seed).random((RUNS, N_MAX), np.float32) < p
    return np.cumsum(outcomes, axis=1, dtype=np.int16)


def simulate(test, counts):
    """Return the share of runs that pass, and the mean number of episodes."""
    passed, failed = counts >= passing(test), counts <= failing(test)
    over = passed | failed
    stop = np.where(over.any(1), over.argmax(1), N_MAX - 1)
    return passed[np.arange(RUNS), stop].mean(), (stop + 1).mean()


@walk(("p0", "p1", "p", "sprt", "eprocess"), together(TABLE, 2))
def test_the_table_of_simulated_tests(p0, p1, p, sprt, eprocess):
    counts = successes(p, seed=round(1000 * (p0 + p)))
    for test, (share, mean) in (
        (Sprt(p0, p1, 0.05, 0.05), sprt),
        (EProcess(p0, 0.05, futility=False), eprocess),
    ):
        found = simulate(test, counts)
        assert found[0] == pytest.approx(share, abs=0.02)
        assert found[1] == pytest.approx(mean, rel=0.07)


@walk("p0", every(2, [0.1, 0.5, 0.8, 0.9, 0.99]))
def test_a_policy_at_the_target_seldom_passes(p0):
    counts = successes(p0, seed=round(100 * p0))
    for alpha in (0.05, 0.01):
        slack = 3 * math.sqrt(alpha * (1 - alpha) / RUNS)
        for test in (Sprt(p0, (1 + p0) / 2, alpha, 0.05), EProcess(p0, alpha)):
            assert simulate(test, counts)[0] <= alpha + slack


@walk("p0", [0.8, 0.9])
def test_a_z_test_repeated_every_20_episodes_keeps_no_error(p0):
    n = np.arange(20, N_MAX + 1, 20)
    z = (successes(p0, seed=2)[:, 19::20] / n - p0) / np.sqrt(p0 * (1 - p0) / n)
    assert (z >= 1.645).any(1).mean() > 0.25


def exact_share(test, p, n_max):
    """The probability of a pass, by carrying on the distribution of the successes."""
    passes, fails = passing(test, n_max), failing(test, n_max)
    going, share = np.zeros(n_max + 2), 0.0
    going[0] = 1.0
    for n in range(1, n_max + 1):
        going[1:] = going[1:] * (1 - p) + going[:-1] * p
        going[0] *= 1 - p
        share += going[passes[n - 1] :].sum()
        going[passes[n - 1] :] = 0.0
        going[: fails[n - 1] + 1] = 0.0
    return share


def test_the_exact_error_of_the_tests():
    assert exact_share(EProcess(0.9, 0.05, futility=False), 0.9, 2000) < 0.05
    assert exact_share(EProcess(0.9, 0.05), 0.9, 2000) < 0.05
    assert exact_share(Sprt(0.8, 0.9, 0.05, 0.05), 0.8, 2000) < 0.05 / 0.95  # Wald's own bound


def test_e_is_the_mean_likelihood_ratio_above_the_target():
    p0, s, f = 0.8, 37, 5
    p = np.linspace(p0, 1, 400_001)
    ratio = (p / p0) ** s * ((1 - p) / (1 - p0)) ** f
    mean = np.trapezoid(ratio, p) / (1 - p0)
    assert EProcess(p0, 0.05).statistic(s, f) == pytest.approx(math.log(mean), abs=1e-8)
    assert EProcess(p0, 0.05).statistic(0, 0) == pytest.approx(0, abs=1e-12)


def test_confidence_sequence_ends_where_the_mixture_reaches_the_bound():
    low, high = confidence_sequence(80, 20, 0.05)
    for end in (low, high):
        assert log_mixture(end, 80, 20) == pytest.approx(math.log(20), abs=1e-6)
    assert 0.6 < low < 0.8 < high < 0.95
    assert confidence_sequence(0, 0, 0.05) == (0.0, 1.0)
    assert confidence_sequence(50, 0, 0.05)[1] == 1.0
    assert confidence_sequence(0, 50, 0.05)[0] == 0.0


def test_confidence_sequence_holds_at_all_times():
    p, alpha = 0.7, 0.05
    counts = successes(p, seed=1)
    table = np.array([math.lgamma(k + 1) for k in range(N_MAX + 2)])
    n = np.arange(1, N_MAX + 1)
    log = table[counts] + table[n - counts] - table[n + 1]
    log -= counts * math.log(p) + (n - counts) * math.log(1 - p)
    outside = (log >= -math.log(alpha)).any(1).mean()
    assert outside <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / RUNS)


def test_futility_stops_what_is_hopeless():
    test = EProcess(0.9, 0.05)
    assert test.verdict(10, 30) == "fail"
    assert confidence_sequence(10, 30, 0.05)[1] < 0.9
    assert EProcess(0.9, 0.05, futility=False).verdict(10, 30) == "undecided"


def test_levels_of_all_tests_add_up_to_alpha():
    assert sum(level(0.05, k) for k in range(1, 200_000)) == pytest.approx(0.05, abs=1e-6)


# -- configuration ---------------------------------------------------------------------------------


def test_fewest_and_expected_episodes():
    for p0, p1, fewest, expected in ((0.9, 0.95, (55, 43), 159), (0.8, 0.9, (25, 20), 72)):
        sprt = Sprt(p0, p1, 0.05, 0.05)
        assert (sprt.fewest(), EProcess(p0, 0.05).fewest()) == fewest
        closed = math.ceil(math.log(0.95 / 0.05) / math.log(p1 / p0))
        assert sprt.fewest() == closed
        assert round(sprt.expected()) == expected
        assert sprt.bounds() == pytest.approx((-2.944, 2.944), abs=1e-3)


@walk(
    ("given", "match"),
    [
        ({"target": 1.0}, "target=1.0 .*: no number of episodes"),
        ({"target": 0.0}, "target"),
        ({"target": 0.9, "margin": 0.1}, "margin"),
        ({"target": 0.9, "method": "z"}, "method"),
        ({"target": 0.9, "alpha": 0.0}, "alpha"),
        ({"target": 0.9, "beta": 0.7}, "beta"),
        ({"target": 0.9, "n_max": 0}, "n_max"),
        ({"target": 0.9, "n_max": 373}, "n_max=373: test 1 .* needs 374"),
        ({"target": 0.9, "n_max": 400, "tests": 2}, "fewer tests"),
        ({"target": 0.999}, "raise n_max"),
        ({"target": 0.9, "method": "eprocess", "n_max": 100}, "raise n_max"),
    ],
)
def test_gates_that_cannot_work_are_refused(given, match):
    with pytest.raises(ConfigError, match=match):
        GateConfig(**given)


# -- running ---------------------------------------------------------------------------------------


class Steps:
    """Walks: a player that needs no parameters."""

    def __init__(self, engine):
        pass

    def begin(self, engine, lanes, seeds=None):
        pass

    def act(self, engine, lanes):
        return np.ones(len(lanes), np.int32)


def quick(seen):
    return seen["goal"] <= 4  # known from the first state on; two thirds of the episodes


CONFIG = GateConfig(target=0.4, margin=0.2, n_max=2000, tests=3)


def engine_of(n):
    return BatchEngine(WalkGame(), n, backend="reference")


def one_by_one(first, count, max_steps=None):
    """The episodes of a single environment, one after the other."""
    engine, found = engine_of(1), []
    for seed in range(first, first + count):
        engine.reset_many(seeds=seed)
        steps = 0
        while not engine.ended[0] and steps != max_steps:
            engine.step_many(np.ones(1, np.int32), autoreset=False)
            steps += 1
        late = not engine.ended[0]
        found.append((bool(engine.info["goal"][0] <= 4) and not late, late))
    return found


@walk("n", [1, 7, 30])
@walk("max_steps", [None, 3])
def test_episodes_come_in_order_whatever_the_number_of_lanes(n, max_steps):
    found = yield_results(engine_of(n), Steps, quick, 50 + np.arange(25), max_steps)
    assert list(found) == one_by_one(50, 25, max_steps)


def test_certificate_tells_what_was_tested():
    found = [
        Gate(CONFIG).certify(0, engine_of(n), Steps, quick, stage="near", fingerprint=lambda: "abc")
        for n in (3, 16)
    ]
    certificate = found[0]
    n = certificate.successes + certificate.failures
    test = CONFIG.test(1)
    assert certificate.passed
    assert test.verdict(certificate.successes, certificate.failures) == "pass"
    played = one_by_one(GATE_SEEDS, n)
    assert certificate.successes == sum(won for won, _ in played)
    assert certificate.last_seed == GATE_SEEDS + n - 1
    record = json.loads(certificate.to_json())
    assert record["alpha"] == level(0.05, 1)
    assert record["policy"] == "abc"
    assert record["interval"][0] < certificate.successes / n < record["interval"][1]
    other = json.loads(found[1].to_json())
    assert record.pop("engine")["num_envs"] == other.pop("engine")["num_envs"] - 13
    assert record == other


def test_undecided_and_given_up_do_not_pass():
    config = GateConfig(target=0.6, method="eprocess", margin=0.2, n_max=80)
    found = Gate(config).certify(0, engine_of(4), Steps, quick, stage="a", fingerprint=str)
    assert found.successes + found.failures == 80
    assert found.verdict == "undecided"
    assert not found.passed
    how = {"fingerprint": str, "max_steps": 1}
    late = Gate(CONFIG).certify(0, engine_of(4), Steps, quick, stage="b", **how)
    assert late.verdict == "fail"
    assert late.given_up > 0


def test_each_test_has_seeds_and_an_error_of_its_own():
    gate, engine = Gate(CONFIG, every=10), engine_of(8)
    assert gate.due(0)
    first = gate.certify(0, engine, Steps, quick, stage="a", fingerprint=str)
    assert not gate.due(9)
    assert gate.due(10)
    resumed = Gate(CONFIG, every=10)
    resumed.load_state_dict(gate.state_dict())
    second = resumed.certify(10, engine, Steps, quick, stage="a", fingerprint=str)
    assert second.alpha == level(0.05, 2) < first.alpha
    assert second.first_seed == GATE_SEEDS + MAX_EPISODES > first.last_seed
    assert GATE_SEEDS + MAX_EPISODES * MAX_EPISODES < TRAINING_BIT
    assert json.loads(second.to_json())["number"] == 2


def test_more_tests_than_there_are_episodes_for_are_refused():
    config = GateConfig(target=0.9, n_max=374)
    gate = Gate(config)
    gate.load_state_dict({"tests": 1, "last_update": 0})
    with pytest.raises(ConfigError, match="test 2"):
        gate.certify(9, engine_of(1), Steps, quick, stage="a", fingerprint=str)


def test_a_policy_that_changes_is_noticed():
    versions = iter("ab")
    with pytest.raises(RuntimeError, match="changed in its test"):
        Gate(CONFIG).certify(
            *(0, engine_of(4), Steps, quick),
            stage="a",
            fingerprint=lambda: next(versions),
        )


def test_hashes_see_every_parameter_and_setting():
    import torch

    weights = {"a": torch.zeros(2, dtype=torch.bfloat16), "b": torch.ones(())}
    hashes = {digest(weights), digest({**weights, "b": torch.zeros(())})}
    hashes.add(digest({**weights, "a": torch.zeros(1, 2, dtype=torch.bfloat16)}))
    assert len(hashes) == 3
    assert digest(dict(reversed(weights.items()))) in hashes
    assert config_hash(CONFIG, {"limit": 3}) != config_hash(CONFIG, {"limit": 4})
