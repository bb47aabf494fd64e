"""Who plays the other seats of a game in training, where the learner sits, and how it goes on."""

import json
from itertools import pairwise

import numpy as np
import pytest

from fastenv.errors import ConfigError
from tests.bits import equal
from tests.training import begun, manifests, third_game
from tests.training.left import newest
from tests.training.third_game import DUEL, ENV, TINY, TINY_DUEL
from training import load_policy
from training.callbacks.shaping import Potential
from training.callbacks.start import check_config
from training.run import checkpoint, files
from training.run.config import RunConfig
from training.run.engine import restore_seating
from training.run.envs import build, make_engine, make_lanes, make_seated, with_seating

VERSUS = "DrMarioVersus-v0"
DQN = {
    "batch_size": 16,
    "learning_starts": 64,
    "iteration_steps": 16,
    "capacity": 320,
    "net_arch": [8],
    "num_quantiles": 3,
    "epsilon_start": 0.05,  # schedules end with a run, the first half too
    "priority_beta": 1.0,
}
TRAINERS = {
    "native": {},
    "sb3": {},
    "dqn": {"dqn": DQN},
    "ensemble": {"ensemble": {"seeds": [1, 2]}, "ppo": TINY["ppo"] | {"batch_size": 32}},
}
known = pytest.fixture(third_game.known, scope="module", autouse=True)


def train(runs, name, *flags, **options):
    by_ppo = options.get("trainer") != "dqn"
    tiny = {key: value for key, value in TINY_DUEL.items() if key != "ppo" or by_ppo}
    return begun.train(runs, name, *flags, config=tiny | options)


def play(engine, steps, seed=3):
    """Yield the learners' seats of an engine, before each of some steps at random."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield engine.get_agents()
        engine.step_many(rng.integers(0, engine.num_actions, engine.num_envs))


# -- engines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("env", "opponent"), [(DUEL, "slow"), (VERSUS, "random")])
def test_the_opponent_of_the_game_plays_and_seats_rotate(env, opponent):
    config = RunConfig.from_mapping({"env": env, "num_envs": 512})
    for engine in (make_engine(env, 4), *make_lanes(config).engines, build("auto", env, {}, 4)[0]):
        assert (engine.num_agents, engine.opponent, engine.agent_seat) == (1, opponent, "rotate")
        engine.reset_many(seeds=0)
        assert engine.get_agents(np.arange(4)).tolist() == [0, 1, 0, 1]
    assert with_seating(env) == {"opponent": opponent, "agent_seat": "rotate"}


def test_another_opponent_and_seat_may_be_named():
    engine = make_engine(DUEL, 3, {"opponent": ["fast"], "agent_seat": 1})
    engine.reset_many(seeds=0)
    assert engine.get_agents().tolist() == [1, 1, 1]
    assert engine.get_knob("opponent") == ["fast"] * 3
    assert all((seats == 1).all() for seats in play(engine, 60))


def test_a_game_that_names_nobody_says_so_in_a_sentence():
    with pytest.raises(ConfigError, match=r"env_options\.opponent=None .* the name of a scripted"):
        make_engine(ENV, 2)
    with pytest.raises(ConfigError, match="2 agents meet in this game"):
        make_lanes(RunConfig.from_mapping({"env": ENV}))
    for wrong, said in (("nobody", "bot 'nobody'"), (["fast", "slow"], "one name or 1")):
        with pytest.raises(ConfigError, match=said):
            make_lanes(RunConfig.from_mapping({"env": DUEL, "env_options": {"opponent": wrong}}))
    with pytest.raises(ConfigError, match=r"agent_seat=2: must be 'rotate' or a seat 0\.\.1"):
        make_engine(DUEL, 2, {"agent_seat": 2})
    assert make_seated("Prospector-v0")[1] == {"opponent": None}


@pytest.mark.parametrize(
    "options",
    [
        {"env_options": {"opponent": "external"}},
        {"env_options": {"opponent": ["external"]}},
        {"env_options": {"seats": "all"}},
        {"schedules": {"opponent": [[0, "slow"], [100, "external"]]}},
    ],
)
def test_seats_from_outside_are_not_trained_on(options):
    with pytest.raises(ConfigError, match="with the section selfplay alone"):
        check_config(RunConfig.from_mapping({**TINY_DUEL, **options}))


def test_a_seat_that_is_put_back_is_shown():
    one, other = (make_engine(DUEL, 4) for _ in range(2))
    one.reset_many(seeds=0)
    for _ in play(one, 200):
        pass
    assert set(one.get_agents().tolist()) == {0, 1}
    other.set_states(one.get_states())
    other.set_seating(one.get_seating())
    assert np.array_equal(one.get_agents(), other.get_agents())
    assert np.array_equal(one.obs, other.obs)
    assert np.array_equal(one.mask, other.mask)


def test_older_checkpoints_go_on_in_the_first_seat_until_the_episode_ends():
    before = make_engine(DUEL, 4, {"agent_seat": 0})
    before.reset_many(seeds=0)
    for _ in play(before, 7):
        pass
    arrays = {"decisions": before.get_seating()["decisions"]}
    engine = make_engine(DUEL, 4)
    engine.set_states(before.get_states())
    restore_seating(engine, arrays)
    assert np.array_equal(engine.obs, before.obs)
    seats = list(play(engine, 300))
    assert not seats[0].any()
    assert {(a, b) for old, new in pairwise(seats) for a, b in zip(old, new, strict=True)} == {
        *((0, 0), (0, 1), (1, 0), (1, 1))
    }


def test_the_potential_of_a_state_is_that_of_the_learners_seat():
    engine, rng, ends = make_engine(DUEL, 6), np.random.default_rng(3), set()
    engine.configure("limit", 20)
    engine.reset_many(seeds=0)
    potential = Potential(engine, lambda rows: rows["place"], kappa=1.0, gamma=1.0)
    potential.begin()
    for _ in range(60):
        rows, seats = engine.get_states(), engine.get_agents()
        before = rows["place"][np.arange(6), seats]
        assert potential.values.tolist() == before.tolist()
        actions = rng.integers(0, 4, 6)
        engine.step_many(actions)
        added = potential.step(actions)
        for lane in np.flatnonzero(engine.truncated):
            own = engine.final_info["places"][lane, 0]  # the learner's entry is the first
            assert added[lane] == own - before[lane]
            ends.add(int(seats[lane]))
    assert ends == {0, 1}


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trainer", TRAINERS)
@pytest.mark.slow
def test_a_run_in_all_seats_resumes_as_if_it_had_not_been_stopped(tmp_path, trainer):
    options = {"trainer": trainer, **TRAINERS[trainer]}
    assert train(tmp_path, "straight", **options) == 0
    assert train(tmp_path, "resumed", **options, total_steps=256) == 0
    assert train(tmp_path, "resumed", "--resume", **options, total_steps=512) == 0
    straight, resumed = (newest(tmp_path / name) for name in ("straight", "resumed"))
    assert equal(straight.model, resumed.model)
    assert (straight.rows == resumed.rows).all()
    seats = straight.arrays["seating_agent"]
    assert set(seats.tolist()) == {0, 1}
    for key, array in straight.arrays.items():
        assert (array == resumed.arrays[key]).all(), key
    policy = load_policy(tmp_path / "straight")
    vec = policy.make_vec(3)
    assert (vec.engine.opponent, vec.engine.agent_seat) == ("slow", "rotate")
    assert policy.make().engine.opponent == "slow"
    other = policy.make_vec(2, opponent="fast", agent_seat=0)
    assert (other.engine.opponent, other.engine.agent_seat) == ("fast", 0)


@pytest.mark.parametrize("trainer", ["native", "sb3", "dqn"])
def test_a_checkpoint_without_seats_is_gone_on_with(tmp_path, trainer):
    """As runs from before have it: an opponent in the config, decisions alone in the arrays."""
    options = {"trainer": trainer, "env_options": {"goal": 8, "opponent": "slow"}}
    options |= TRAINERS[trainer]
    assert train(tmp_path, "old", **options, total_steps=256) == 0
    path = checkpoint.newest(tmp_path / "old/checkpoints")
    with np.load(path / "engine.npz") as whole:
        kept = {name: whole[name] for name in whole.files if not name.startswith("seating_")}
        assert len(kept) < len(whole.files)
    np.savez(path / "engine.npz", **kept)
    known = manifests.read(path)["files"]
    size = (path / "engine.npz").stat().st_size
    known["engine.npz"] |= {"size": size, "sha256": files.sha256(path / "engine.npz")}
    manifests.change(path, files=known)
    assert train(tmp_path, "old", "--resume", **options, total_steps=512) == 0
    assert set(newest(tmp_path / "old").arrays["seating_agent"].tolist()) == {0, 1}


@pytest.mark.parametrize("trainer", ["native", "sb3", "dqn"])
@pytest.mark.slow
def test_opponents_follow_a_schedule(tmp_path, trainer):
    options = {"trainer": trainer, **TRAINERS[trainer]}
    options["schedules"] = {"opponent": [[0, "random"], [256, "fast"]]}
    assert train(tmp_path, "run", **options, total_steps=256) == 0
    early = newest(tmp_path / "run")
    assert set(early.arrays["seating_opponents"].ravel().tolist()) == {0}  # of its bot_names
    assert train(tmp_path, "run", "--resume", **options, total_steps=1024) == 0
    late = newest(tmp_path / "run").arrays
    assert set(late["seating_opponents"].ravel().tolist()) == {2}
    assert 2 in late["seating_players"]


def test_opponents_are_stages_of_a_gate(tmp_path):
    """Of a column with an entry an agent the learner's counts, in whatever seat."""
    stages = [{"name": each, "knobs": {"opponent": each}} for each in ("slow", "fast")]
    success = {"info": "places", "at_least": 8}
    gate = {"stages": stages, "success": success, "target": 0.01, "margin": 0.5, "gate_every": 1}
    gate |= {"lanes": 8, "n_max": 400, "tests": 2}
    assert train(tmp_path, "run", gate=gate, total_steps=1024) == 0
    (path, *_) = (tmp_path / "run/certificates").iterdir()
    certificate = json.loads(path.read_text())
    assert (certificate["stage"], certificate["verdict"]) == ("slow", "pass")
    assert certificate["failures"] > 0
    assert set(newest(tmp_path / "run").arrays["seating_opponents"].ravel().tolist()) == {2}
    stages[1]["knobs"]["opponent"] = "nobody"
    with pytest.raises(ConfigError, match="bot 'nobody'"):
        check_config(RunConfig.from_mapping({**TINY_DUEL, "gate": gate}))
