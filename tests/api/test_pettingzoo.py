"""PettingZoo's own suites over every game that several play, and what its users rely on."""

import contextlib
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv.env import shown_obs
from fastenv.errors import show
from tests.api.short import SEVERAL, short
from tests.ring import RingGame
from tests.toy import RaceGame, WalkGame

pettingzoo = pytest.importorskip("pettingzoo")
suites = pytest.importorskip("pettingzoo.test")

from pettingzoo.utils.conversions import aec_to_parallel  # noqa: E402

from fastenv.adapters.pettingzoo import aec_env, parallel_env  # noqa: E402
from tests.slow import every  # noqa: E402
from tests.tables import walk  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    "flat": ("SkullKingFlat-v0", {"schedule": (1, 3, 2)}),
    "flat, abilities": ("SkullKingFlat-v0", {"schedule": (5, 6), "abilities": "agent"}),
    "manager": ("SkullKingManager-v0", {"mode": "game", "num_players": 3}),
    "worker": ("SkullKingWorker-v0", {"num_players": 2, "scoring": "rascal_cannon"}),
    "ability": ("SkullKingAbility-v0", {"num_players": 6, "tigress": "agent"}),
    "bots in two seats": (
        "SkullKingFlat-v0",
        {"schedule": (2,), "agent_seat": 1, "opponents": ["rule_hard", "external", "random"]},
    ),
}
TOYS = {  # whose rows have an entry an agent
    "race": lambda: RaceGame(raise_illegal=True),
    "race that plays on": RaceGame,
    "ring in turns": RingGame,
    "ring together": lambda: RingGame("together"),
    "ring mixed": lambda: RingGame("mixed", raise_illegal=False),
}
AGENTS = [name for name in SEVERAL if fastenv.make_game(name).spec.num_agents > 1]
# Every id of the registry that several players meet in; pytest's --env chooses one of them.
each_game = pytest.mark.parametrize("env_id", [*SEVERAL, *TABLES, *TOYS])
each_of_agents = pytest.mark.parametrize("env_id", [*AGENTS, *TOYS])


def made(make, name, **options):
    """Return what an adapter makes of an id, of a table or of a toy."""
    if name in TOYS:
        return make(TOYS[name](), **options)
    env_id, fixed = TABLES.get(name, (name, short(name)))
    return make(env_id, **(fixed | options))


def table_of(name, **options):
    return made(aec_env, name, **options)


@contextlib.contextmanager
def only_dict_observations():
    """Nothing may be said but that observations are dicts, which the suite calls unusual."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield
    unusual = ("Observation is not a NumPy array", "Observation space for each agent probably")
    others = {str(w.message) for w in said if not str(w.message).startswith(unusual)}
    assert not others


def play(env, rng, steps=10_000):
    """Yield agent and observation of every decision, and take a random legal one."""
    for agent in env.agent_iter(steps):
        seen, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.step(None)
            continue
        yield agent, seen
        env.step(int(rng.choice(np.flatnonzero(seen["action_mask"]))))


@each_game
@pytest.mark.parametrize(
    ("make", "suite"),
    [(aec_env, suites.api_test), (parallel_env, suites.parallel_api_test)],
)
def test_api(env_id, make, suite, capsys):
    with only_dict_observations():
        suite(made(make, env_id), num_cycles=100)
    assert "Passed" in capsys.readouterr().out


@each_game
@pytest.mark.parametrize(
    ("make", "suite"),
    [(aec_env, suites.seed_test), (parallel_env, suites.parallel_seed_test)],
)
def test_seeds(env_id, make, suite):
    suite(lambda: made(make, env_id), num_cycles=30)


# -- one after the other, and all at once ----------------------------------------------------------


def alike(one, other):
    """Return whether observations have the same bits."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name]) for name in one)
    return (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def answers_to(seen, infos, rng, wild):
    """Return a random action of each agent that must act; now and then one that is illegal."""
    found = {}
    for name, info in infos.items():
        if info["needs_action"]:
            mask = seen[name]["action_mask"]
            any_action = rng.random() < wild
            found[name] = int(rng.choice(len(mask) if any_action else np.flatnonzero(mask)))
    return found


@pytest.mark.parametrize("seed", every(3, range(3)))
@each_game
def test_an_episode_of_either_kind_is_that_of_the_other(env_id, seed):
    """With the same actions: turns, observations, masks, rewards and the end are the same."""
    turns, both = (made(make, env_id) for make in (aec_env, parallel_env))
    rng = np.random.default_rng(seed)
    wild = 0.2 if both.engine.spec.illegal_actions == "play" else 0
    turns.reset(seed=seed)
    seen, infos = both.reset(seed=seed)
    agents = both.possible_agents
    assert turns.possible_agents == agents
    for _ in range(300):
        given = answers_to(seen, infos, rng, wild)
        for k, (name, action) in enumerate(given.items()):
            assert turns.agent_selection == name
            shown = turns.observe(name)
            assert alike(shown, seen[name])
            if both.engine.num_agents > 1:
                others = {each: turns.observe(each) for each in agents if each != name}
                assert all(
                    alike(x["observation"], seen[n]["observation"]) for n, x in others.items()
                )
                due = [*given][k + 1 :]
                assert all(alike(others[n], seen[n]) for n in due)
                idle = [x["action_mask"] for n, x in others.items() if n not in due]
                assert not any(mask.any() for mask in idle)
            if k:  # the answers before are pending
                assert turns.rewards == dict.fromkeys(agents, 0.0)
            turns.step(action)
        seen, rewards, terminated, truncated, infos = both.step(given)
        assert turns.rewards == rewards
        assert (turns.terminations, turns.truncations) == (terminated, truncated)
        assert both.agents == (
            [] if any(terminated.values()) or any(truncated.values()) else agents
        )
        if not both.agents:
            break
    assert not (both.agents and env_id in TOYS)
    while turns.agents and not both.agents:
        turns.step(None)


@each_of_agents
def test_rewards_of_an_agent_add_up_to_those_of_its_row(env_id):
    env = made(aec_env, env_id)
    rng, paid = np.random.default_rng(1), dict.fromkeys(env.possible_agents, 0.0)
    env.reset(seed=1)
    for agent in env.agent_iter(3000):
        seen, reward, terminated, truncated, _ = env.last()
        paid[agent] += reward
        over = terminated or truncated
        env.step(None if over else int(rng.choice(np.flatnonzero(seen["action_mask"]))))
    for agent in env.agents:  # an episode of frames goes on
        paid[agent] += env._cumulative_rewards[agent]
    kept = env.engine.get_states()["ep_return"][0].tolist()
    assert [*paid.values()] == pytest.approx(kept, rel=1e-12, abs=1e-12)
    assert any(kept) or env_id not in TOYS


@each_of_agents
def test_games_whose_agents_act_together_can_be_made_parallel_by_petting_zoo(env_id):
    env = made(aec_env, env_id)
    assert env.metadata["is_parallelizable"] == (env.seats.order == "together")
    if env.seats.order != "together":
        with pytest.raises(AssertionError, match="not generally safe"):
            aec_to_parallel(env)
        return
    theirs, ours = aec_to_parallel(env), made(parallel_env, env_id)
    theirs.reset(seed=2)
    seen, infos = ours.reset(seed=2)
    rng = np.random.default_rng(2)
    for _ in range(100):
        given = answers_to(seen, infos, rng, 0)
        seen, *results, infos = ours.step(given)
        shown, *others = theirs.step(given)
        if ours.agents:
            assert alike(shown, seen)
        assert all(alike(shown[n]["observation"], seen[n]["observation"]) for n in shown)
        assert [dict(part) for part in others[:3]] == results
        if not ours.agents:
            break


@each_of_agents
def test_bots_play_the_seat_that_is_shown(env_id):
    """The engine of one after the other shows the agent on turn, as policies and bots take it."""
    env = made(aec_env, env_id)
    engine, asked, bots = env.engine, set(), env.game.bot_names
    env.reset(seed=3)
    for _ in range(60 if bots else 0):
        seat = int(engine.get_actors()[0])
        assert env.agent_selection == env.possible_agents[seat]
        assert alike(env.observe(env.agent_selection)["observation"], shown_obs(engine.obs[0]))
        asked.add(seat)
        env.step(int(engine.bot_actions(bots[0])[0]))
        if engine.ended[0]:
            env.reset()
    assert len(asked) == (len(env.possible_agents) if bots else 0)


# -- in turns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", ["points", "points_rank"])
def test_every_seat_is_paid_what_the_agent_in_it_is_paid(reward):
    """The row's agent is in each seat once; deals and moves are the same, so all must agree."""
    shared = {"reward": reward, "deals": "duplicate", "abilities": "agent", "schedule": (6, 8)}
    env = aec_env("SkullKingFlat-v0", **shared)
    rng = np.random.default_rng(2)
    for seed in range(2):
        moves = {agent: [] for agent in env.possible_agents}
        paid = dict.fromkeys(moves, 0.0)
        env.reset(seed=seed)
        for agent in env.agent_iter():
            seen, gain, terminated, _, _ = env.last()
            paid[agent] += gain
            action = None if terminated else int(rng.choice(np.flatnonzero(seen["action_mask"])))
            moves[agent] += [] if terminated else [action]
            env.step(action)
        for seat in range(4):
            engine = fastenv.make_engine(
                "SkullKingFlat-v0", 1, seats="all", agent_seat=seat, **shared
            )
            engine.reset_many(seeds=seed)
            left = [list(moves[f"player_{k}"]) for k in range(4)]
            while not engine.ended[0]:
                actor = int(engine.info["actor"][0])
                engine.step_many(np.array([left[actor].pop(0)]), autoreset=False)
            assert not any(left)
            assert engine.ep_return[0] == pytest.approx(paid[f"player_{seat}"], abs=1e-4)


def test_others_are_shown_what_they_saw_at_their_own_decision():
    env = table_of("flat")
    env.reset(seed=1)
    assert not env.observe("player_3")["observation"].any()
    last = {}
    for agent, seen in play(env, np.random.default_rng(1)):
        for name, before in last.items():
            shown = env.observe(name)
            if name != agent:
                assert shown["observation"].tobytes() == before
                assert not shown["action_mask"].any()
        assert seen["action_mask"].dtype == np.int8
        assert seen["action_mask"].any()
        last[agent] = seen["observation"].tobytes()
    assert len(last) == 4


def test_seats_of_bots_are_no_agents():
    env = table_of("bots in two seats")
    assert env.possible_agents == ["player_1", "player_3"]
    env.reset(seed=1)
    assert {agent for agent, _ in play(env, np.random.default_rng(1))} == {"player_1", "player_3"}


@walk("action", [None, 1.0, True, "0", 11, -1, [0], 3, 10**40])
def test_what_is_no_legal_action_is_refused_and_nothing_moves(action):
    env = table_of("flat")  # one card is dealt: bids 0 and 1 are legal
    env.reset(seed=1)
    before, agent = env.engine.get_states().tobytes(), env.agent_selection
    whole = isinstance(action, int) and action is not True
    says = f"action {show(action)} is " if whole else "action must be an integer, got"
    with pytest.raises(fastenv.InvalidActionError, match=f"^{agent}: {says}"):
        env.step(action)
    assert env.engine.get_states().tobytes() == before
    assert env.agent_selection == agent
    assert env.rewards == dict.fromkeys(env.agents, 0.0)


def test_the_end_is_told_to_everybody_once():
    env = table_of("worker")
    with pytest.raises(fastenv.ResetNeededError, match="call reset"):
        env.step(0)
    env.reset(seed=1)
    for _ in play(env, np.random.default_rng(0)):
        pass
    assert env.agents == []
    with pytest.raises(fastenv.ResetNeededError):
        env.step(None)
    env.reset()
    while not any(env.terminations.values()):
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(0)
    env.close()
    env.close()
    with pytest.raises(fastenv.ResetNeededError):
        env.step(None)


@pytest.mark.parametrize("name", ["flat", "race"])
def test_there_is_nothing_to_see_before_the_first_reset(name):
    env = table_of(name)
    for call in (env.last, lambda: env.observe("player_0")):
        with pytest.raises(fastenv.ResetNeededError, match=r"call reset\(\) before (last|observe)"):
            call()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="agent='player_9': must be one of player_0, player_1"):
        env.observe("player_9")
    for _ in play(env, np.random.default_rng(0)):
        pass
    assert not env.observe("player_0")["action_mask"].any()
    with pytest.raises(fastenv.ResetNeededError, match=r"call reset\(\) before last"):
        env.last()


def test_pictures_are_those_of_the_game():
    env = table_of("flat", render_mode="ansi")
    with pytest.raises(fastenv.ResetNeededError, match="nothing to render"):
        env.render()
    env.reset(seed=1)
    assert "player" in env.render() or "you" in env.render()
    assert table_of("flat").render() is None


@walk("make", [aec_env, parallel_env])
@walk(
    ("game", "says"),
    [
        ("Prospector-v0", "^id 'Prospector-v0': it is for one player, PettingZoo shows games of"),
        ("DrMarioFrame-v0", "^id 'DrMarioFrame-v0': it is for one player"),
        (WalkGame(), "^game: it is for one player, PettingZoo shows games of several$"),
        ("Nothing-v0", "^id 'Nothing-v0': must be one of"),
        (fastenv.make_game("SkullKingFlat-v0"), "^game: it must be made with seats='all', which"),
        ([], r"^game=\[\]: must be an id or a Game"),
        (None, "^game=None: must be an id or a Game"),
    ],
)
def test_games_that_cannot_be_shown_are_refused(make, game, says):
    with pytest.raises(fastenv.ConfigError, match=says):
        make(game)


@pytest.mark.parametrize("make", [aec_env, parallel_env])
@pytest.mark.parametrize(
    ("env_id", "options", "says"),
    [
        ("SkullKingFlat-v0", {"seats": "agent"}, "^id 'SkullKingFlat-v0': it must be made with"),
        ("SkullKingFlat-v0", {"cards": 3}, "^unexpected keyword argument 'cards'"),
        ("DrMarioVersus-v0", {"seats": "all"}, "^unexpected keyword argument 'seats'"),
        ("DrMarioVersus-v0", {"agent_seat": 1}, "^unexpected keyword argument 'agent_seat'"),
        ("Prospector-v0", {"cards": 3}, "^unexpected keyword argument 'cards'"),
    ],
)
def test_options_that_a_game_does_not_take_are_refused(make, env_id, options, says):
    with pytest.raises(fastenv.ConfigError, match=says):
        make(env_id, **options)


# -- in parallel ---------------------------------------------------------------------------------


def race():
    env = parallel_env(RaceGame(raise_illegal=True))
    env.reset(seed=4)
    return env


def test_a_race_is_that_of_the_engine():
    env, rng = race(), np.random.default_rng(0)
    engine = fastenv.BatchEngine(RaceGame(raise_illegal=True), 1)
    engine.reset_many(seeds=4)
    steps = 0
    while env.agents:
        actions = fastenv.sample_legal(engine.mask, rng)
        given = {f"player_{k}": int(actions[0, k]) for k in range(2)}
        seen, rewards, terminated, truncated, infos = env.step(given)
        engine.step_many(actions, autoreset=False)
        for k in range(2):
            name = f"player_{k}"
            for field in engine.obs.dtype.names:
                shown = seen[name]["observation"][field]
                assert shown.tobytes() == engine.obs[field][0, k].tobytes()
            assert seen[name]["action_mask"].tobytes() == engine.mask[0, k].tobytes()
            assert rewards[name] == engine.reward[0, k]
            info = infos[name]
            assert list(info) == ["needs_action", "tau", *engine.info]
            assert (info["needs_action"], info["tau"]) == (
                engine.needs_action()[0, k] and not engine.ended[0],
                engine.tau[0, k],
            )
            assert info["places"] == engine.info["places"][0, k]
            assert info["gain"] == engine.info["gain"][0, k]
            assert info["clock"] == engine.info["clock"][0]
            assert env.game.shown("mood", info["mood"]) in ("behind", "even", "ahead")
            assert (terminated[name], truncated[name]) == (
                engine.terminated[0],
                engine.truncated[0],
            )
            assert env.observation_space(name).contains(seen[name])
        steps += 1
    assert steps > 5
    with pytest.raises(fastenv.ResetNeededError):
        env.step(given)


@walk(
    ("change", "says"),
    [
        ({"player_2": 0}, "'player_2' must be one of player_0, player_1"),
        ({"who": None}, "that of 'who' is missing, it must act"),
        ({"who": 1.5}, "^who: action must be an integer, got 1.5"),
        ({"who": True}, "^who: action must be an integer, got True"),
        ({"who": 4}, "^who: action 4 is out of range, allowed are 0..3"),
        ({"who": -1}, "^who: action -1 is out of range"),
        ({"who": 10**40}, f"^who: action {show(10**40)} is out of range"),
        ({"who": np.uint64(2**64 - 1)}, f"^who: action {2**64 - 1} is out of range"),
        ({"who": 3}, "^who: action 3 is illegal"),
    ],
)
def test_actions_that_do_not_fit_are_refused_and_nothing_moves(change, says):
    env = race()
    seen = env.reset(seed=next(s for s in range(99) if _blocked(env, s) is not None))[0]
    who = _blocked(env, None)
    actions = {name: int(part["action_mask"].nonzero()[0][-1]) for name, part in seen.items()}
    for name, action in change.items():
        name = who if name == "who" else name
        if action is None:
            del actions[name]
        else:
            actions[name] = action
    before = env.engine.get_states().tobytes()
    with pytest.raises(fastenv.InvalidActionError, match=re.sub(r"\bwho\b", who, says)):
        env.step(actions)
    assert env.engine.get_states().tobytes() == before
    assert env.agents == ["player_0", "player_1"]


def _blocked(env, seed):
    """Return who must act and has an illegal action, after a reset if there is a seed."""
    if seed is not None:
        env.reset(seed=seed)
    needs, masks = env.engine.needs_action()[0], env.engine.mask[0]
    return next((f"player_{k}" for k in range(2) if needs[k] and not masks[k, 3]), None)


def test_seats_that_are_not_on_turn_wait_with_what_they_saw_last():
    """In parallel too; what they send is ignored."""
    env, rng = made(parallel_env, "flat"), np.random.default_rng(0)
    seen, infos = env.reset(seed=1)
    last, asked = dict.fromkeys(env.possible_agents), []
    idle = np.eye(1, env.engine.num_actions, dtype=np.int8)[0]
    while env.agents:
        on_turn = [name for name, info in infos.items() if info["needs_action"]]
        assert on_turn == [f"player_{env.engine.get_actors()[0]}"]
        for name, part in seen.items():
            assert list(infos[name]) == ["needs_action"]
            if name in on_turn:
                assert part["observation"].tobytes() == env.engine.obs[0].tobytes()
                last[name] = part["observation"].copy()
                continue
            assert part["action_mask"].tobytes() == idle.tobytes()
            expected = np.zeros_like(part["observation"]) if last[name] is None else last[name]
            assert part["observation"].tobytes() == expected.tobytes()
            part["observation"][...] = 7  # theirs to write
        action = int(rng.choice(np.flatnonzero(seen[on_turn[0]]["action_mask"])))
        with pytest.raises(fastenv.InvalidActionError, match=f"that of '{on_turn[0]}' is missing"):
            env.step({})
        with pytest.raises(
            fastenv.InvalidActionError, match=f"^{on_turn[0]}: action 10 is illegal"
        ):
            env.step({on_turn[0]: 10})
        asked += on_turn
        seen, _, _, _, infos = env.step(dict.fromkeys(env.agents, -5) | {on_turn[0]: action})
    assert {*asked} == {*env.possible_agents}
    assert not any(info["needs_action"] for info in infos.values())
    with pytest.raises(fastenv.ResetNeededError):
        env.step({on_turn[0]: 0})


def test_what_maps_no_agents_is_refused():
    with pytest.raises(fastenv.InvalidActionError, match="must map agents to integers"):
        race().step([0, 0])


# -- the example ---------------------------------------------------------------------------------


def test_four_players_meet_at_one_table(monkeypatch):
    pytest.importorskip("torch")  # one of the four is a trained network
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(ROOT)  # as `python -m docs.examples.table` has it
    points = runpy.run_module("docs.examples.table")["play"](3)
    assert list(points) == [f"player_{seat}" for seat in range(4)]
    assert points["player_0"] > points["player_3"]


@pytest.mark.parametrize("make", [aec_env, parallel_env])
@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_are_those_of_the_single_environment(make, seed):
    env = make(RingGame())
    env.reset(seed=2**64 - 1)
    with pytest.raises(fastenv.ConfigError, match=r"^seed=.*: it must be from 0 to 2\*\*64 - 1\.$"):
        env.reset(seed=seed)
