"""``info_mode``: everything, numbers over the lanes, or nothing."""

import pickle

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

import fastenv
from fastenv.env import FastEnv
from fastenv.vector import FastVectorEnv, allocate
from tests.needs import FASTEST
from tests.race import BACKENDS
from tests.slow import diagonal
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

N = 6
MODES = ("next_step", "same_step", "disabled")
GAMES = {
    "walk": (WalkGame, {}),
    "race": (lambda: RaceGame(goal=8), {"opponent": "random"}),
    "both": (lambda: RaceGame(goal=8), {"agents": "all"}),
}
NUMBERS = {  # columns that are one number a lane; labels and arrays are none
    "walk": ("position", "goal", "distance", "twice"),
    "race": ("clock", "apart", "share", "gain", "progress"),
    "both": ("clock", "apart", "share"),
}
every_game = pytest.mark.parametrize("name", GAMES)
every_mode = pytest.mark.parametrize("mode", MODES)


def vec_of(name, mode, info_mode, backend=FASTEST, **more):
    make, options = GAMES[name]
    return FastVectorEnv(
        make(), N, backend=backend, autoreset_mode=mode, info_mode=info_mode, **options, **more
    )


def steps(vec, count=40):
    """Yield what random steps return, and the lanes that were reset between them."""
    rng, done = np.random.default_rng(0), np.zeros(N, bool)
    for _ in range(count):
        if vec.autoreset_mode == AutoresetMode.DISABLED and done.any():
            vec.reset(options={"reset_mask": done})
        result = vec.step(rng.integers(0, vec.engine.num_actions, vec.action_space.shape))
        done = result[2] | result[3]
        yield result


@every_mode
@every_game
def test_a_mode_changes_nothing_but_the_infos(name, mode):
    vecs = [vec_of(name, mode, info_mode) for info_mode in ("full", "stats", "none")]
    resets = [vec.reset(seed=3) for vec in vecs]
    for other in resets[1:]:
        assert data_equivalence(resets[0][0], other[0], exact=True)
    for full, stats, none in zip(*map(steps, vecs), strict=True):
        for other in (stats, none):
            assert data_equivalence(full[:4], other[:4], exact=True)


@walk(("name", "mode"), diagonal(GAMES, MODES))
def test_stats_are_those_of_numpy_as_python_floats(name, mode):
    """Over the states that a step led to: in lanes that ended, the last one of the episode."""
    vec, same = vec_of(name, mode, "stats"), vec_of(name, mode, "full", copy=False)
    expected = {"done_rate", "trunc_rate", "reset_rate"}
    expected |= {f"{c}_{s}" for c in NUMBERS[name] for s in ("mean", "p10", "p50", "p90")}
    expected |= {"tau_mean"} if name != "walk" else set()
    _, first = vec.reset(seed=1)
    same.reset(seed=1)
    assert set(first) == expected
    assert all(type(value) is float for value in first.values())
    assert (first["done_rate"], first["reset_rate"]) == (0.0, 0.0)
    ended = 0
    for (_, _, terminated, truncated, infos), _ in zip(steps(vec), steps(same), strict=True):
        engine, done = same.engine, terminated | truncated
        infos = {key: value for key, value in infos.items() if "final_obs" not in key}
        assert set(infos) == expected
        assert all(type(value) is float for value in infos.values())
        for column in NUMBERS[name]:
            values = np.where(done, engine.final_info[column], engine.info[column])
            eps = 1e-6 if values.dtype == np.float32 else 0.0  # sums may be double or not
            values = values.astype(np.float64)
            assert infos[f"{column}_mean"] == pytest.approx(values.mean(), rel=eps, abs=eps)
            for share in (10, 50, 90):
                found, wanted = infos[f"{column}_p{share}"], np.percentile(values, share)
                assert found == pytest.approx(wanted, rel=eps, abs=eps), (column, share)
        assert infos["done_rate"] == terminated.mean()
        assert infos["trunc_rate"] == truncated.mean()
        assert infos["reset_rate"] == done.mean()
        if name != "walk":
            assert infos["tau_mean"] == float(engine.tau.mean())
        ended += done.sum()
    assert ended > N


@pytest.mark.parametrize("info_mode", ["stats", "none"])
@every_game
def test_last_observations_are_told_in_all_modes(name, info_mode):
    vec, full = vec_of(name, "same_step", info_mode), vec_of(name, "same_step", "full")
    for each in (vec, full):
        each.reset(seed=2)
    ended = 0
    for ours, theirs in zip(steps(vec), steps(full), strict=True):
        done = ours[2] | ours[3]
        if info_mode == "none":
            assert set(ours[4]) == ({"final_obs", "_final_obs"} if done.any() else set())
        assert ("final_obs" in ours[4]) == done.any()
        if done.any():
            for key in ("final_obs", "_final_obs"):
                assert data_equivalence(ours[4][key], theirs[4][key], exact=True)
            assert "final_info" not in ours[4]
        ended += done.sum()
    assert ended > N


@pytest.mark.parametrize("mode", ["next_step", "disabled"])
@every_game
def test_none_is_nothing(name, mode):
    vec = vec_of(name, mode, "none")
    assert vec.engine.info_columns == vec.engine.term_columns == ()
    assert vec.reset(seed=2)[1] == {}
    assert all(result[4] == {} for result in steps(vec))


@walk("backend", BACKENDS)
@walk("info_mode", ["full", "stats", "none"])
def test_stats_of_chosen_columns_on_all_backends(info_mode, backend):
    columns = ("share", "places", "gain", "mood") if info_mode != "none" else None
    vec = vec_of("race", "next_step", info_mode, backend, info_columns=columns)
    vec.reset(seed=0)
    infos = vec.step(np.ones(N, int))[4]
    rates = {"done_rate", "trunc_rate", "reset_rate", "tau_mean"}
    numbers = {f"{c}_{s}" for c in ("share", "gain") for s in ("mean", "p10", "p50", "p90")}
    whole = {"share", "places", "gain", "mood", "tau", "action_mask"}
    whole |= {f"_{key}" for key in whole}
    assert set(infos) == {"full": whole, "stats": rates | numbers, "none": set()}[info_mode]


@walk("info_mode", ["stats", "none"])
@walk("backend", BACKENDS)
def test_one_environment_tells_how_an_episode_ended_and_no_more(backend, info_mode):
    for game, opponent in ((WalkGame(), None), (RaceGame(goal=6), "random")):
        env = FastEnv(game, backend=backend, info_mode=info_mode, opponent=opponent)
        full = FastEnv(game, backend=backend, opponent=opponent)
        assert env.reset(seed=1)[1] == {}
        full.reset(seed=1)
        known = {"episode_return", "episode_length"}
        known |= {"episode_frames"} if opponent else set()
        done = False
        while not done:
            (obs, *ours), (like, *theirs) = env.step(1), full.step(1)
            assert data_equivalence(obs, like, exact=True)
            assert ours[:3] == theirs[:3]
            done = ours[1] or ours[2]
            assert ours[3] == ({key: theirs[3][key] for key in known} if done else {})
        assert env.action_masks().all()
        assert pickle.loads(pickle.dumps(env)).info_mode == info_mode


def test_buffers_are_written_in_all_modes():
    vecs = [vec_of("race", "same_step", info_mode) for info_mode in ("full", "stats", "none")]
    outs = [allocate(vec) for vec in vecs]
    for vec in vecs:
        vec.reset(seed=0)
    for step in range(20):
        for vec, out in zip(vecs, outs, strict=True):
            vec.step_into(np.full(N, step % 4), out)
        for out in outs[1:]:
            for name, array in vars(out).items():
                assert np.array_equal(array, getattr(outs[0], name)), name


@walk("wrong", ["", "Full", "all", None, 1, True, b"full", ["full"], {"full"}])
def test_other_modes_are_refused(wrong):
    for make in (FastEnv, lambda game, **options: FastVectorEnv(game, 2, **options)):
        with pytest.raises(fastenv.ConfigError, match=r"info_mode=.*'full', 'stats', 'none'"):
            make(WalkGame(), info_mode=wrong)


def test_columns_of_nothing_are_refused():
    for make in (FastEnv, lambda game, **options: FastVectorEnv(game, 2, **options)):
        with pytest.raises(fastenv.ConfigError, match=r"info_columns=.*info_mode='none'"):
            make(WalkGame(), info_mode="none", info_columns=("goal",))
        make(WalkGame(), info_mode="none", info_columns=())
