"""Two players: pills, attacks, ends and decisions (docs/drmario.md, 9 and 12.6)."""

import numpy as np
import pytest

from fastenv.drmario import make_game
from fastenv.drmario import tables as t
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError
from fastenv.vector import sample_legal
from tests.needs import FASTEST
from tests.tables import walk

PLAIN = {"obs": "bitplane_bottle", "extras": (), "stack": 1}
every_backend = pytest.mark.parametrize("backend", ["reference", "numba", "cython", "fast"])


def match_of(n, backend=FASTEST, placement=False, seed=1, **options):
    """Return an engine of matches that have begun."""
    game = make_game(agents=2, placement=placement, **PLAIN | options)
    engine = BatchEngine(game, n, backend, info_columns=("viruses", "garbage_sent", "reward_win"))
    engine.reset_many(seeds=seed)
    return engine


def playing(engine):
    """Return the rows of a match of frames behind the intro, with bottles that are empty."""
    rows = engine.get_states()
    players = rows["players"]
    players["mode"], players["intro_wait"] = t.Mode.PLAYING, 0
    players["next_action"], players["board"] = t.Next.SENT, t.EMPTY
    return rows


def idle(engine):
    return np.zeros((engine.num_envs, 2), int)


# -- bottles and pills -----------------------------------------------------------------------------


def test_equal_levels_have_one_layout_and_others_their_own_counts():
    equal = match_of(8, level=7).get_states()["players"]["board"]
    assert np.array_equal(equal[:, 0], equal[:, 1])
    engine = match_of(8, level=(2, 16))
    assert engine.info["viruses"].tolist() == [[12, 68]] * 8
    boards = engine.get_states()["players"]["board"]
    heights = 15 - (boards != t.EMPTY).reshape(8, 2, 16, 8).any(axis=3).argmax(axis=2)
    assert (heights <= [9, 10]).all()


def test_both_get_the_same_pills_each_in_its_own_time():
    engine = match_of(1, level=0, speed=("high", "low"))
    reserve = engine.get_states()["reserve"][0].tolist()
    pills, last = ([], []), [2, 2]
    for _ in range(2000):
        engine.step_many(idle(engine), autoreset=False)
        if engine.ended.any():
            break
        for k, player in enumerate(engine.get_states()["players"][0]):
            if player["reserve_index"] != last[k]:
                last[k] = player["reserve_index"]
                pills[k].append(int(3 * player["color_first"] + player["color_second"]))
    assert len(pills[0]) > len(pills[1]) > 1
    for found in pills:
        assert found == reserve[1 : 1 + len(found)]


def test_levels_and_speeds_are_options_and_knobs_of_each_player():
    engine = match_of(2, level=(3, 10), speed=("low", "high"))
    engine.configure("level", (20, 0), [1])
    engine.configure("speed", "medium", [1])
    assert engine.get_knob("level") == [(3, 10), (20, 0)]
    assert engine.get_knob("speed") == [("low", "high"), ("medium", "medium")]
    engine.reset_many()
    players = engine.get_states()["players"]
    assert players["level"].tolist() == [[3, 10], [20, 0]]
    assert players["speed_setting"].tolist() == [[0, 2], [1, 1]]
    for name, value in (("level", (1, 2, 3)), ("level", (0, -1)), ("speed", ("low", "fast"))):
        with pytest.raises(ConfigError, match=f"{name}="):
            make_game(agents=2, **{name: value})


# -- attacks ---------------------------------------------------------------------------------------

# size of an attack: mask of the frame that says where it begins, and columns from there
FALLS = {2: (3, [0, 4]), 3: (3, [0, 2, 4]), 4: (1, [0, 2, 4, 6]), 9: (1, [0, 2, 4, 6])}
COLORS = [2, 0, 1, 2]


@every_backend
@walk("attacked", [0, 1])
def test_garbage_falls_where_and_when_the_rules_say(backend, attacked):
    cases = [(size, frame) for size in FALLS for frame in range(4)]
    engine = match_of(len(cases), backend)
    rows = playing(engine)
    victims, others = rows["players"][:, attacked], rows["players"][:, 1 - attacked]
    others["attack_size"], others["attack_colors"] = [size for size, _ in cases], COLORS
    victims["next_action"], victims["placed_step"] = t.Next.PLACED, 8
    victims["combo_counter"] = 1
    victims["board"][:, :8] = t.Tile.SINGLE | 1  # garbage falls into whatever is there
    rows["frame"] = [(frame - 2) % 2**32 for _, frame in cases]
    engine.set_states(rows)
    engine.step_many(idle(engine))
    assert not engine.get_states()["players"]["ev_volleys"].any()
    engine.step_many(idle(engine))
    rows = engine.get_states()
    victims, others = rows["players"][:, attacked], rows["players"][:, 1 - attacked]
    for (size, frame), victim, other in zip(cases, victims, others, strict=True):
        mask, offsets = FALLS[size]
        columns = [(frame & mask) + offset for offset in offsets]
        expected = np.full(8, t.Tile.SINGLE | 1)
        expected[columns] = t.Tile.SINGLE | np.array(COLORS[: len(columns)])
        where = f"size {size}, frame {frame}"
        assert victim["board"][:8].tolist() == expected.tolist(), where
        assert (victim["next_action"], victim["placed_step"]) == (t.Next.PLACED, 0), where
        assert (victim["combo_counter"], victim["attack_size"]) == (0, 0), where
        assert (other["attack_size"], other["attack_colors"].tolist()) == (0, COLORS), where
    sent = np.zeros((len(cases), 2), int)
    sent[:, 1 - attacked] = [min(size, 4) for size, _ in cases]
    assert np.array_equal(engine.info["garbage_sent"], sent)
    np.testing.assert_allclose(engine.reward, 0.05 * sent)


@every_backend
def test_matches_charge_an_attack_from_two_on_and_garbage_waits_for_the_turn(backend):
    combos = [0, 1, 2, 3, 7]
    engine = match_of(len(combos), backend)
    rows = playing(engine)
    first, second = rows["players"][:, 0], rows["players"][:, 1]
    first["next_action"], first["combo_counter"] = t.Next.ATTACK, combos
    first["attack_size"] = 3  # of before: what is charged adds up
    second["next_action"] = t.Next.ADVANCE  # too late for this pill
    engine.set_states(rows)
    engine.step_many(idle(engine))
    players = engine.get_states()["players"]
    assert players["attack_size"][:, 0].tolist() == [3, 3, 5, 6, 10]
    assert not players["combo_counter"].any()
    assert (players["next_action"] == [t.Next.ADVANCE, t.Next.SEND]).all()
    assert not players["ev_volleys"].any()


# -- the end ---------------------------------------------------------------------------------------

ENDS = {
    ("clear", "play"): (1, "clear"),
    ("play", "clear"): (-1, "clear"),
    ("clear", "clear"): (0, "clear"),
    ("clear", "lose"): (1, "clear"),
    ("lose", "clear"): (-1, "clear"),
    ("lose", "play"): (-1, "topout"),
    ("play", "lose"): (1, "topout"),
    ("lose", "lose"): (0, "topout"),
}


def about_to(player, what):
    """Let a player clear its last virus in the next frame, or lose, or go on."""
    if what == "clear":
        player["next_action"], player["placed_step"], player["virus_bcd"] = t.Next.PLACED, 5, 1
        player["board"][120:124] = [t.Tile.VIRUS, *[t.Tile.SINGLE] * 3]
    elif what == "lose":
        player["next_action"] = t.Next.SEND
        player["board"][3] = t.Tile.SINGLE


@every_backend
def test_who_wins(backend):
    engine = match_of(len(ENDS), backend, clear_win_bonus=0.25)
    rows = playing(engine)
    for row, whats in zip(rows, ENDS, strict=True):
        for player, what in zip(row["players"], whats, strict=True):
            about_to(player, what)
    engine.set_states(rows)
    engine.step_many(idle(engine), autoreset=False)
    assert engine.terminated.all()
    for (won, reason), reward, row in zip(
        ENDS.values(), engine.reward.tolist(), engine.get_states(), strict=True
    ):
        bonus = [0.25 * (reason == "clear" and won == side) for side in (1, -1)]
        assert reward == [won + bonus[0], -won + bonus[1]]
        assert t.REASONS[row["reason"]] == reason


# -- decisions (docs/drmario.md, 12.6) -------------------------------------------------------------


def test_a_step_ends_when_anybody_must_decide_and_tau_is_each_players_own():
    engine = match_of(6, placement=True, level=(12, 3), speed=("high", "low"))
    rng, decided = np.random.default_rng(2), np.zeros((6, 2), int)
    waits = both = 0
    for _ in range(60):
        needs, frame = engine.needs_action(), engine.get_states()["frame"].astype(int)
        assert needs.any(axis=1).all()
        assert (engine.mask[~needs].sum(axis=1) == 1).all()
        assert engine.mask[~needs][:, 0].all()
        decided[needs] = np.broadcast_to(frame[:, None], needs.shape)[needs]
        engine.step_many(sample_legal(engine.mask, rng), autoreset=False)
        now = engine.get_states()["frame"].astype(int)
        assert (now > frame).all()
        assert np.array_equal(engine.tau, now[:, None] - decided)
        waits, both = waits + (~needs).sum(), both + needs.all(axis=1).sum()
        if engine.ended.any():
            fresh = engine.ended.copy()
            engine.reset_many(mask=fresh)
    assert waits > 60
    assert both > 6


def test_what_a_waiting_player_sends_is_ignored():
    engine, other = (match_of(4, placement=True, level=(12, 3), speed="high") for _ in range(2))
    rng = np.random.default_rng(3)
    for _ in range(40):
        actions, needs = sample_legal(engine.mask, rng), engine.needs_action()
        engine.step_many(actions)
        other.step_many(np.where(needs, actions, rng.integers(0, 512, actions.shape)))
        assert np.array_equal(engine.get_states(), other.get_states())


def test_parallel_env_tells_who_must_act_and_each_players_own_columns():
    parallel_env = pytest.importorskip("fastenv.adapters.pettingzoo").parallel_env
    env = parallel_env("DrMarioVersus-v0", level=(1, 20), speed=("low", "high"))
    seen, infos = env.reset(seed=4)
    assert [info["viruses"] for info in infos.values()] == [8, 84]
    rng, waited = np.random.default_rng(1), 0
    while env.agents:
        assert infos["player_0"]["frame"] == infos["player_1"]["frame"]
        due = [name for name in env.agents if infos[name]["needs_action"]]
        waited += len(due) == 1
        legal = {name: np.flatnonzero(seen[name]["action_mask"]) for name in env.agents}
        assert all(len(legal[name]) == infos[name]["feasible_count"] for name in due)
        assert all(legal[name].tolist() == [0] for name in {*env.agents} - {*due})
        result = env.step({name: int(rng.choice(legal[name])) for name in due})
        seen, rewards, terminations, _, infos = result
    assert waited > 3
    assert all(terminations.values())
    assert sorted(info["reward_win"] for info in infos.values()) == [-1, 1]
    assert not any(info["needs_action"] for info in infos.values())
    assert sum(rewards.values()) == pytest.approx(
        sum(info["reward_garbage"] for info in infos.values())
    )
