"""The compiled placements: the golden episodes, beside the reference, warp beside replay."""

import numpy as np
import pytest

from fastenv.drmario import tables as t
from fastenv.drmario.config import DrMarioConfig
from fastenv.drmario.state import VIEW_DTYPE
from tests.drmario.rows import CompiledRows, assert_same_row, played
from tests.drmario.test_placement import EPISODES
from tests.needs import needs_core
from tests.slow import every, late
from tests.tables import walk

pytestmark = needs_core
reachability = pytest.importorskip("fastenv.drmario._reachability")
SHOWN = {
    "cost_to_lock": "ev_cost",
    "tiles_virus": "ev_tiles_virus",
    "tiles_nonvirus": "ev_tiles_nonvirus",
    "match_events": "ev_matches",
}
FLAGS = {"adj": "ev_adjacency", "virus_adj": "ev_virus_adjacency"}


def options_of(episode, **more):
    return {
        "level": episode.level,
        "speed": t.SPEEDS[episode.speed],
        "game_seed": episode.seed,
        **more,
    }


@pytest.mark.parametrize("mode", ["warp", "replay"])
def test_episodes_are_the_golden_ones(mode):
    for episode in EPISODES:
        lanes = CompiledRows(DrMarioConfig(**options_of(episode, mode=mode)))
        lanes.reset([0])
        row, derived = lanes.rows[0], lanes.derived["players"][0, 0]
        player = row["players"][0]
        for i, wanted in enumerate(episode.rows):
            where = f"{episode}: decision {i}"
            mask = derived["costs"] != t.INFEASIBLE
            np.testing.assert_array_equal(mask, episode.masks[i], err_msg=where)
            assert derived["feasible"] == mask.sum() == wanted["feasible_count"]
            assert player["reserve_index"] == wanted["reserve_index"]
            lanes.step([wanted["action"]])
            got = {name: player[field] for name, field in SHOWN.items()}
            got |= {"tau": row["tau"], "reason": row["reason"]}
            got |= {"terminated": row["done"] == 1, "truncated": row["done"] == 2}
            got["viruses_after"] = t.from_bcd(int(player["virus_bcd"]))
            for name, field in FLAGS.items():
                for k, color in enumerate("RYB"):
                    got[f"{name}_pair_{color}"] = player[field][k] == 1
                    got[f"{name}_triplet_{color}"] = player[field][k] == 2
            for name, value in got.items():
                assert value == wanted[name], f"{where}: {name}"
            assert player["board"].tobytes() == episode.boards[i + 1].tobytes(), where


CONFIGS = {
    "warp": {"level": 8, "speed": "high"},
    "replay": {"level": 16, "mode": "replay"},
    "low speed, extended": {"level": 19, "speed": "low", "extended_inputs": True},
    "extended, replay": {"level": 20, "speed": "high", "extended_inputs": True, "mode": "replay"},
    "few viruses": {"level": -1, "speed": "high", "task_max_frames": 500},
    "matches": {"level": -15, "speed": "high", "task_max_spawns": 3},
    "time limit": {"level": 14, "speed": "low", "max_wait_frames": 60},
    "two": {"agents": 2, "level": (5, 16), "speed": "high"},
    "two, far apart": {"agents": 2, "level": 18, "speed": ("high", "low")},
}


def choose(rng, costs):
    """Return an action: mostly what can be reached, the cheapest ones more often."""
    feasible = np.flatnonzero(costs != t.INFEASIBLE)
    if rng.random() < 0.05:
        return int(rng.integers(t.NUM_PLACEMENTS))
    if rng.random() < 0.5:
        return int(feasible[np.argsort(costs[feasible])[: 1 + len(feasible) // 4]][-1])
    return int(rng.choice(feasible))


@walk("steps", [15, *late(80)])
@walk("name", every(2, CONFIGS))
def test_placements_are_those_of_the_reference(name, steps):
    config = DrMarioConfig(**CONFIGS[name])
    rng, lanes, seed = np.random.default_rng(7), CompiledRows(config), 21
    game = played(config, config.knobs_record()[0], seed)
    lanes.reset([seed])
    assert_same_row(lanes.rows[0], game, f"{name}: reset")
    for i in range(steps):
        actions = np.zeros(config.agents, int)
        for k, known in enumerate(game.costs()):
            record = lanes.derived["players"][0, k]
            assert record["known"] == (known is not None)
            if known is not None:
                assert tuple(record["costs"].tolist()) == known, f"{name}: step {i}"
                actions[k] = choose(rng, record["costs"])
        lanes.step(actions)
        game.step(actions.tolist())
        assert_same_row(lanes.rows[0], game, f"{name}: seed {seed}, step {i}, {actions}")
        if game.done:
            lanes.reset()
            game.reset(config.knobs_record()[0])
            assert_same_row(lanes.rows[0], game, f"{name}: reset after step {i}")


@pytest.mark.parametrize("extended", [False, True])
def test_warp_and_replay_lead_to_the_same_states(extended):
    n, rng, ended = 60, np.random.default_rng(1), 0
    ways = []
    for mode in ("warp", "replay"):
        config = DrMarioConfig(mode=mode, extended_inputs=extended)
        knobs = np.repeat(config.knobs_record(), n)
        knobs["level"], knobs["speed"] = np.arange(n)[:, None] % 25, np.arange(n)[:, None] % 3
        ways.append(CompiledRows(config, knobs))
        ways[-1].reset(range(n))
    for i in range(60):
        actions = [choose(rng, costs) for costs in ways[0].costs()]
        for lanes in ways:
            lanes.step(actions)
        for name in ways[0].rows["players"].dtype.names:
            ours, theirs = (lanes.rows["players"][name] for lanes in ways)
            np.testing.assert_array_equal(ours, theirs, f"step {i}: {name}")
        assert ways[0].rows.tobytes() == ways[1].rows.tobytes(), f"step {i}"
        done = (ways[0].rows["done"] != 0).view(np.uint8)
        ended += done.sum()
        for lanes in ways:
            lanes.loop.reset(done, None)
    assert ended > 10


def decide(lanes, rng, scripts):
    """Draw placements that can be reached, and put their scripts in the place of older ones."""
    actions = [0] * len(scripts)
    for k, record in enumerate(lanes.derived["players"][0]):
        if record["known"]:
            actions[k] = int(rng.choice(np.flatnonzero(record["costs"] != t.INFEASIBLE)))
            question = lanes.rows["players"][0, k]["board"][None], record["parity"]
            pressed, _ = reachability.script(*question, record["gravity"], actions[k])
            scripts[k] = pressed[0].tolist()
    return actions


def assert_frames_went_alike(placed, frames, where):
    """Compare players; what a pill leaves behind where it lies differs (docs/drmario.md, 12.2)."""
    left_out = {"row", "col", "rot", "hor_velocity"}
    if placed["next_action"] == t.Next.PLACED or placed["plan_left"]:
        left_out |= {"speed_counter"}
    for name in (*VIEW_DTYPE.names, "reserve_index", "score", "locks", "matches"):
        if name not in left_out:
            np.testing.assert_array_equal(placed[name], frames[name], f"{where}: {name}")


@pytest.mark.parametrize("agents", [1, 2])
def test_scripts_of_placements_played_as_frames_lead_to_the_same_states(agents):
    for seed in range(6):
        options = {"agents": agents, "level": 3 * seed, "speed": t.SPEEDS[seed % 3]}
        placements = CompiledRows(DrMarioConfig(**options))
        frames = CompiledRows(DrMarioConfig(placement=False, **options))
        rng, scripts = np.random.default_rng(seed), [[] for _ in range(agents)]
        for lanes in (placements, frames):
            lanes.reset([seed])
        for i in range(25):
            while frames.rows["frame"] < placements.rows["frame"]:
                frames.step([buttons.pop(0) if buttons else 0 for buttons in scripts])
            for k in range(agents):
                players = placements.rows["players"][0, k], frames.rows["players"][0, k]
                assert_frames_went_alike(*players, f"seed {seed}, decision {i}, player {k}")
            if placements.rows["done"]:
                break
            placements.step(decide(placements, rng, scripts))


def test_what_cannot_be_reached_is_refused():
    lanes = CompiledRows(DrMarioConfig(level=5))
    lanes.reset([4])
    before = lanes.rows[0].copy()
    refused = int(np.flatnonzero(lanes.costs()[0] == t.INFEASIBLE)[0])
    lanes.step([refused])
    assert lanes.rows["tau"] == 1
    assert lanes.rows["players"]["ev_invalid"] == 1
    for name in ("frame", "ep_frames", "done"):
        assert lanes.rows[name] == before[name]
    assert (lanes.rows["players"]["board"][0, 0] == before["players"]["board"][0]).all()


def test_one_refused_action_holds_both_players():
    lanes = CompiledRows(DrMarioConfig(agents=2, level=5))
    lanes.reset([4])
    frame, costs = lanes.rows["frame"].copy(), lanes.costs()[0]
    good, bad = int(np.argmin(costs)), int(np.flatnonzero(costs == t.INFEASIBLE)[0])
    lanes.step([good, bad])
    assert lanes.rows["frame"] == frame
    assert lanes.rows["players"]["ev_invalid"][0].tolist() == [0, 1]
    assert lanes.rows["needs_action"][0].tolist() == [1, 1]
    lanes.step([good, good])
    assert lanes.rows["frame"] > frame


def test_a_pill_left_alone_always_lies_somewhere():
    """At least one placement can be reached wherever a pill fits (docs/drmario.md, 12.1)."""
    config = DrMarioConfig(level=20, speed="high")
    lanes = CompiledRows(config, np.repeat(config.knobs_record(), 200))
    rng = np.random.default_rng(3)
    lanes.reset(range(200))
    boards = lanes.rows["players"]["board"][:, 0]
    for lane in range(200):
        full = rng.random(t.CELLS) < rng.random()
        boards[lane][full] = t.Tile.SINGLE | rng.integers(0, 3, int(full.sum()))
        boards[lane, [3, 4]] = t.EMPTY
    lanes.load()
    assert (lanes.derived["players"]["feasible"] > 0).all()
