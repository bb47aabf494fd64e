"""The evaluator of Dr. Mario: what it sees, what it is trained toward, its file, its measures."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from fastenv.drmario.greedy import weigh_bottle
from fastenv.drmario.tables import GREEDY
from fastenv.errors import ConfigError
from tests.tables import walk
from training.apps.drmario.best_times import ENV
from training.apps.drmario.compare import cvar
from training.apps.drmario.evaluator import model, samples
from training.apps.drmario.evaluator.command import measure_calibration
from training.apps.drmario.evaluator.features import (
    NUMBERS,
    SITUATION,
    UNKNOWN,
    count_features,
    mirror_features,
    situations,
    situations_behind,
)
from training.apps.drmario.evaluator.model import FORMAT, UNIT, Head, weigh
from training.apps.drmario.evaluator.samples import CENSORED, CLEARED, LOST, SAMPLE, draw_games
from training.apps.drmario.evaluator.train import (
    TARGETS,
    Targets,
    TrainConfig,
    censored_loss,
    fit,
)
from training.callbacks.shaping import Potential, find_potential
from training.games.drmario.goals import fewer_viruses
from training.players.bots import Bot
from training.players.player import begin_all, every_lane
from training.run.config import RunConfig
from training.run.envs import make_engine

SEED = 31_415
SMALL = Head(quantiles=9, hidden=16, t_max=9_000)
WAYS, VIRUS = ("row", "column"), ("", " with a virus")


def greedy(engine, seed):
    """The bot in all lanes of an engine."""
    bot = Bot("greedy", engine)
    begin_all(bot, engine, seed)
    return bot


def made(outcome, frames, left):
    """Samples of games by hand."""
    found = np.zeros(len(frames), SAMPLE)
    found["seen"]["board"] = np.arange(len(frames))[:, None]
    found["outcome"], found["frames"], found["left"] = outcome, frames, left
    return found


@pytest.fixture(scope="module")
def rows():
    engine = make_engine(ENV, 16, {"level": 3, "obs": "none", "extras": ()})
    engine.reset_many(seeds=SEED)
    bot = greedy(engine, SEED)
    for _ in range(12):
        engine.step_many(bot.act(engine, every_lane(engine)))
    return engine.get_states()


# -- measures --------------------------------------------------------------------------------------


@walk("share", [0.05, 0.25, 0.5, 0.9])
def test_cvar_is_the_mean_of_the_largest_share(share):
    values = np.sort(np.random.default_rng(SEED).exponential(size=51))
    got = values @ weigh(f"cvar{share}", 51)
    assert got == pytest.approx(cvar(values, share), rel=1e-5)
    assert got > values.mean()  # frames are a cost: the bad end is the upper one


@walk("share", [0.001, 0.25, 0.5, 0.77, 0.999])
def test_quantile_lies_between_the_midpoints(share):
    values = np.sort(np.random.default_rng(SEED).normal(size=21))
    midpoints = (np.arange(21) + 0.5) / 21
    got = values @ weigh(f"quantile{share}", 21)
    assert got == pytest.approx(np.interp(share, midpoints, values), abs=1e-5)


def test_measures_have_names_and_refuse_others():
    for text in ("mean", "quantile0.75", "cvar0.25"):
        assert weigh(text, 7).sum() == pytest.approx(1)
    for text in ("median", "cvar", "cvar0", "cvar1.5", "quantile-0.5", "cvar1e-1"):
        with pytest.raises(ConfigError, match="risk="):
            weigh(text, 7)


# -- what is seen ----------------------------------------------------------------------------------


def test_nothing_hidden_is_seen(rows):
    other = rows.copy()
    rng = np.random.default_rng(SEED)
    other["reserve"] = rng.permuted(other["reserve"], axis=1)
    other["rng"] = rng.integers(2**63, size=other["rng"].shape, dtype=np.uint64)
    for name in ("preview_first", "preview_second"):
        other["players"][name] = (other["players"][name] + 1) % 3
    assert situations(other).tobytes() == situations(rows).tobytes()
    every, boards = np.arange(len(rows)), rows["players"]["board"][:, 0]
    behind = [situations_behind(x, every, boards, preview=False).tobytes() for x in (rows, other)]
    assert behind[0] == behind[1]
    other["players"]["color_first"] = (other["players"]["color_first"] + 1) % 3
    assert situations(other).tobytes() != situations(rows).tobytes()


def test_what_is_seen_behind_placements_is_what_is_seen_there():
    """Through three rises of the speed, which a tenth pill brings."""
    engine = make_engine(ENV, 4, {"level": 0, "speed": "high"})
    engine.reset_many(seeds=SEED)
    bot, rises = greedy(engine, 0), 0
    for _ in range(32):
        rows, lanes = engine.get_states(), np.flatnonzero(~engine.ended)
        engine.step_many(bot.act(engine, every_lane(engine)), select=~engine.ended, autoreset=False)
        lanes = lanes[~engine.ended[lanes]]
        then = engine.get_states(lanes)
        rises += int((then["players"]["speed_ups"] - rows["players"]["speed_ups"][lanes]).sum())
        got = situations_behind(rows, lanes, then["players"]["board"][:, 0], preview=True)
        assert got.tobytes() == situations(then).tobytes()
    assert rises >= 3


def test_numbers_are_what_greedy_weighs(rows):
    """In one sum with the weights of the bot they are what it makes of the same bottle."""
    numbers = count_features(situations(rows)) * np.array(list(NUMBERS.values()), np.float32)
    found = dict(zip(NUMBERS, numbers.T.astype(int), strict=True))
    lines = {
        f"{w} of {n}{v}": found[f"{w} of {n}{v}"] for w in WAYS for n in (1, 2, 3) for v in VIRUS
    }
    for k, board in enumerate(rows["players"]["board"][:, 0].tolist()):
        wanted = weigh_bottle(board, GREEDY)
        got = sum(
            GREEDY[weight] * found[name][k]
            for weight, name in (
                *(("half", "halves"), ("cover", "covers"), ("change", "changes")),
                *(("neck", "neck"), ("gap", "gaps")),
            )
        )
        for way in WAYS:
            for n in (1, 2, 3):
                both = sum(lines[f"{way} of {n}{v}"][k] for v in VIRUS)
                got += {2: GREEDY[f"{way}_pair"], 3: GREEDY[f"{way}_triple"]}.get(n, 0) * both
                got += GREEDY[f"virus_{way}"] * n * lines[f"{way} of {n} with a virus"][k]
        assert got == wanted, f"seed {SEED}, game {k}"


def test_numbers_know_the_pill_and_which_way_a_bottle_stands(rows):
    seen = situations(rows)
    unknown = seen.copy()
    unknown["pill"] = UNKNOWN
    numbers, hidden = count_features(seen), count_features(unknown)
    pill = [k for k, name in enumerate(NUMBERS) if "pill" in name]
    assert (hidden[:, pill] == 0).all()
    rest = np.delete(np.arange(len(NUMBERS)), pill)
    np.testing.assert_array_equal(hidden[:, rest], numbers[:, rest])
    mirror = seen.copy()
    mirror["board"] = seen["board"].reshape(-1, 16, 8)[:, :, ::-1].reshape(-1, 128)
    got = count_features(mirror)
    centre = [k for k, name in enumerate(NUMBERS) if name != "neck"]
    np.testing.assert_array_equal(mirror_features(numbers)[:, centre], got[:, centre])
    recoloured = seen.copy()  # red for yellow, in the bottle and in the pill
    cells = recoloured["board"]
    color, held = cells & 15, (cells < 0xF0) & ((cells & 15) < 2)
    recoloured["board"] = np.where(held, (cells & 0xF0) | (1 - color), cells)
    recoloured["pill"] = np.where(seen["pill"] < 2, 1 - seen["pill"], seen["pill"])
    np.testing.assert_array_equal(count_features(recoloured), numbers)


# -- what is trained toward ------------------------------------------------------------------------


def test_censored_loss_equals_the_sum_written_out():
    rng = np.random.default_rng(SEED)
    theta, target = (rng.normal(size=(6, n)).astype(np.float32) for n in (5, 3))
    at_least = np.array([True, False] * 3)
    target[at_least] = target[at_least, :1]
    levels, kappa, wanted = (np.arange(5) + 0.5) / 5, 0.3, np.zeros(6)
    for k in range(6):
        for i in range(5):
            for j in range(3):
                u = target[k, j] - theta[k, i]
                if at_least[k] and u < 0:
                    continue
                huber = u * u / 2 if abs(u) <= kappa else kappa * (abs(u) - kappa / 2)
                wanted[k] += abs(levels[i] - (u < 0)) * huber / kappa / 3
    given = torch.tensor(theta, requires_grad=True)
    got = censored_loss(given, torch.tensor(target), torch.tensor(at_least), kappa)
    np.testing.assert_allclose(got.detach().numpy(), wanted, rtol=1e-5)
    got.sum().backward()
    above = at_least[:, None] & (theta > target[:, :1])
    assert above.any()
    assert (given.grad.numpy()[above] == 0).all()


def test_targets_tell_clears_losses_and_censored_games_apart():
    found = made(
        [CLEARED, CLEARED, LOST, CENSORED, CENSORED, CLEARED],
        [700, 300, 50, 400, 100, 12_000],
        [1, 0, 0, 1, 0, 0],
    )
    judge = lambda seen: np.repeat(seen["board"][:, :1].astype(np.float32), 4, 1)  # noqa: E731
    rng = np.random.default_rng(SEED)
    target, at_least = Targets(found, 9_000).of(np.arange(6), judge, rng)
    # the fourth goes on with what is said of the fifth, which nothing is known of but a bound
    wanted = np.array([700, 300, 9_000, 300 + 4 * UNIT, 100, 9_000], np.float32) / UNIT
    np.testing.assert_allclose(target, np.stack([wanted] * TARGETS, 1), rtol=1e-6)
    assert at_least.tolist() == [False] * 4 + [True, True]


@pytest.mark.slow
def test_quantiles_of_outcomes_are_learnt():
    """Two kinds of bottles whose outcomes have different spreads."""
    rng = np.random.default_rng(SEED)
    kind = rng.integers(2, size=4000)
    found = made([CLEARED] * 4000, rng.uniform(1000, 1000 + 3000 * (1 + kind)), [0] * 4000)
    found["seen"]["board"] = np.where(kind, 0xD1, 0xFF)[:, None]
    evaluator = model.new_evaluator(SMALL, SEED)
    fit(evaluator, found, 250, batch_size=128, learning_rate=1e-2)
    for k, width in ((0, 3000), (1, 6000)):
        (got,) = evaluator.quantiles(found["seen"][kind == k][:1])
        wanted = 1000 + width * (np.arange(9) + 0.5) / 9
        assert np.abs(got - wanted).max() < 450, f"seed {SEED}"
    said = measure_calibration(evaluator, found)
    assert said["worst"] < 0.08
    assert said["games"] == 4000
    assert (np.array(said["intervals"])[:, 0] <= said["shares"]).all()


# -- games -----------------------------------------------------------------------------------------


def test_frames_are_those_to_the_end_of_the_same_game():
    games = draw_games(6, (1, 1), ("medium",), SEED)
    found = samples.play("greedy", games, most=300)
    assert set(found["outcome"]) == {CLEARED}
    seeds = [seed for _, _, seed in games]
    assert not any(seed % 2 for seed in seeds)
    begin = np.flatnonzero(np.concatenate([[True], found["left"][:-1] == 0]))
    assert len(begin) == 6
    options = {"level": 1, "game_seed": seeds[0]}
    engine = make_engine(ENV, 1, options)
    engine.reset_many(seeds=0)
    bot, taus, seen = greedy(engine, 0), [], []
    while not engine.ended[0]:
        seen.append(situations(engine.get_states())[0])
        engine.step_many(bot.act(engine, every_lane(engine)), autoreset=False)
        taus.append(int(engine.tau[0]))
    wanted = np.cumsum(taus[::-1])[::-1]
    np.testing.assert_array_equal(found["frames"][: len(taus)], wanted)
    assert found["seen"][: len(taus)].tobytes() == np.array(seen, SITUATION).tobytes()
    assert found["left"][: len(taus)].tolist() == list(range(len(taus)))[::-1]


def test_samples_begin_behind_the_last_decision_by_chance():
    games = draw_games(8, (0, 0), ("medium",), SEED)
    for explore in (0.0, 1.0):
        found = samples.play("greedy", games, most=300, explore=explore, seed=SEED)
        of_game = np.split(np.arange(len(found)), np.flatnonzero(found["left"] == 0)[:-1] + 1)
        for part in of_game:
            assert found["left"][part].tolist() == list(range(len(part)))[::-1]
            assert (np.diff(found["frames"][part]) < 0).all()
        empty = (found["seen"]["board"] == 0xFF) | (found["seen"]["board"] >= 0xD0)
        fresh = [bool(empty[part[0]].all()) for part in of_game]
        assert all(fresh) == (not explore)


def test_games_that_are_given_up_are_censored():
    found = samples.play("greedy", draw_games(3, (0, 0), ("medium",), SEED), most=5)
    assert set(found["outcome"]) == {CENSORED}
    assert len(found) == 15
    assert (found["frames"] > 0).all()


def test_games_are_as_many_of_each_speed_and_odd_ones_are_held_back():
    games = draw_games(40, (2, 4), ("low", "high"), SEED, odd=True)
    levels, speeds, seeds = zip(*games, strict=True)
    assert set(levels) == {2, 3, 4}
    assert speeds == ("low", "high") * 20
    assert len(set(seeds)) == 40
    assert all(seed % 2 for seed in seeds)


def test_a_training_refuses_impossible_values():
    for name, value in (("bot_games", 0), ("most", 0), ("seed", -1)):
        with pytest.raises(ConfigError, match=f"{name}={value}"):
            TrainConfig.from_mapping({name: value})


# -- the file --------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "small.safetensors"
    model.new_evaluator(SMALL, SEED).save(path)
    return path


def test_file_keeps_what_is_said(saved, rows):
    first, again = model.new_evaluator(SMALL, SEED), model.load(saved)
    assert again.head == first.head
    got = again.quantiles(situations(rows))
    np.testing.assert_array_equal(got, first.quantiles(situations(rows)))
    assert (np.diff(got, axis=1) >= 0).all()
    assert got.min() >= 0


def written(path, **changed):
    """Write the file again with another head."""
    head = SMALL.to_dict() | changed
    save_file(load_file(path), path, {"format": FORMAT, "head": json.dumps(head)})
    return path


def test_evaluators_for_something_else_are_refused_by_name(saved, rows, tmp_path):
    broken = model.load(saved)
    players = rows["players"][:, 0]
    evaluator = model.load(written(saved, levels=[5, 10]))
    with pytest.raises(ConfigError, match=r"level=3 .*small\.safetensors.*levels 5 to 10"):
        evaluator.check(players["level"], players["speed_setting"])
    evaluator = model.load(written(saved, speeds=["high"]))
    with pytest.raises(ConfigError, match=r"speed='medium' .* speed high"):
        evaluator.check(players["level"], players["speed_setting"])
    with pytest.raises(ConfigError, match=r"observation='pixels'.*bottle_pill_gravity"):
        model.load(written(saved, observation="pixels"))
    with pytest.raises(ConfigError, match="holds another network"):
        model.load(written(saved, hidden=17))
    next(broken.net.parameters()).data.fill_(float("nan"))
    broken.save(tmp_path / "broken.safetensors")
    with pytest.raises(ConfigError, match="finite numbers"):
        model.load(tmp_path / "broken.safetensors")
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(saved.read_bytes()[:100])
    with pytest.raises(ConfigError, match="is no evaluator"):
        model.load(damaged)
    with pytest.raises(ConfigError, match="evaluator="):
        model.load(tmp_path / "missing")


def test_potential_is_minus_the_mean(saved, rows):
    evaluator = model.load(saved)
    wanted = -evaluator.quantiles(situations(rows)).mean(1)
    np.testing.assert_allclose(model.find_potential(f"evaluator:{saved}")(rows), wanted, rtol=1e-5)


def test_shaping_by_an_evaluator_is_refused_where_it_says_nothing(saved):
    placements, matches = "DrMarioPlacement-v0", "DrMarioVersus-v0"
    assert find_potential(placements, "viruses") is fewer_viruses
    with pytest.raises(ConfigError, match="evaluator="):
        find_potential(placements, "evaluator:missing")
    with pytest.raises(ConfigError, match=r"shaping\.phi='evaluator:.*one of viruses"):
        find_potential(matches, f"evaluator:{saved}")
    with pytest.raises(ConfigError, match=r"shaping\.gamma"):
        RunConfig.from_mapping(
            {
                "env": "DrMarioPlacement-v0",
                "ppo": {"gamma": 0.9997},
                "shaping": {"phi": f"evaluator:{saved}", "gamma": 0.99},
            }
        )


def test_shaping_by_an_evaluator_telescopes(tmp_path):
    """With gamma**tau the terms of an episode sum to minus the first potential."""
    evaluator, saved = model.new_evaluator(SMALL, SEED), tmp_path / "around_5000.safetensors"
    evaluator.net.out.bias += 5.0
    evaluator.save(saved)
    engine = make_engine(ENV, 4, {"level": 0})
    engine.reset_many(seeds=SEED)
    potential = Potential(
        engine, model.find_potential(f"evaluator:{saved}"), kappa=250.0, gamma=0.9997
    )
    potential.begin()
    first, total, discount = potential.values.copy(), np.zeros(4), np.ones(4)
    bot, running = greedy(engine, SEED), np.ones(4, np.bool_)
    while running.any():
        added = potential.step(_stepped(engine, bot))
        total += np.where(running, discount * added, 0.0)
        discount *= 0.9997 ** engine.tau.astype(float)
        running &= (engine.terminated | engine.truncated) == 0
    np.testing.assert_allclose(total, -first, rtol=1e-3)
    assert (first < -10).all()


def _stepped(engine, bot):
    actions = bot.act(engine, every_lane(engine))
    engine.step_many(actions)
    return actions
