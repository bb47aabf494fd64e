"""Training on the Game Boy: its options, its network, and from where it is evaluated."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from torch import nn

from fastenv.errors import ConfigError
from fastenv.gameboy.lantern_walk import load_world
from fastenv.gameboy.ram_map import load_ram_map
from tests.needs import needs_core
from tests.slow import late
from tests.training.played import play_episodes
from training import train
from training.evaluation.judging import COMPARE, EVALUATE, get_judging
from training.evaluation.results import Results
from training.games.gameboy.evaluation import HELD_OUT, held_out
from training.games.gameboy.players import Scripted
from training.nets.encoders import Encoder
from training.nets.layout import obs_layout
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.envs import make_engine
from training.run.option_layers import CONFIGS, find_usual_options

IDS = ("GameBoyGoal-v0", "LanternWalk-v0")
FILES = {
    IDS[0]: load_file(CONFIGS / "gameboy.yaml"),
    IDS[1]: load_file(CONFIGS / "lantern_walk.yaml"),
}


@pytest.mark.parametrize("env", IDS)
def test_whoever_names_the_id_alone_gets_the_options_that_learn(env):
    found = find_usual_options(env, "native")[1]
    for name in ("ppo", "native", "num_envs", "total_steps", "env_options"):
        assert found[name] == FILES[env][name]
    assert found["env_options"]["sticky"] == 0.25
    assert found.get("trackers") == FILES[env].get("trackers")
    for nothing in ((env, "sb3"), ("GameBoyPixels-v0", "native")):
        assert find_usual_options(*nothing) == (None, {})


@needs_core
@pytest.mark.parametrize("env", IDS)
def test_frames_go_through_convolutions_and_starts_differ(env):
    engine = make_engine(env, 64, FILES[env]["env_options"])
    engine.reset_many(seeds=0)
    assert len({*engine.info["start_state"].tolist()}) > 20
    encoder = Encoder(obs_layout(engine), "conv", FILES[env]["native"]["convs"])
    (images,) = encoder.convs
    assert images.field.sides == (72, 80)
    first = next(layer for layer in images.layers if isinstance(layer, nn.Conv2d))
    assert first.in_channels == FILES[env]["env_options"]["stack_k"]
    numbers = 0 if env == "GameBoyGoal-v0" else 4 * 16 + 128  # senses, by bins, and flags
    assert encoder.size_out == images.size_out + numbers


def test_the_map_of_flags_shows_candles_and_rewards_the_same_events():
    flags, ours = load_ram_map("lantern_walk_flags"), load_ram_map("lantern_walk")
    assert (flags.places, flags.size) == (ours.places, ours.size)
    rewarded = [[8 * m.events + bit for bit in m.rewarded] for m in (flags, ours)]
    assert rewarded[0] == rewarded[1]
    world = load_world()
    addresses = [world.flag(candle)[0] for candle in world.candles()]
    assert flags.events <= min(addresses) <= max(addresses) < flags.events + flags.event_bytes


def test_states_that_were_trained_on_are_not_those_of_the_evaluation():
    for env, file in FILES.items():
        config = RunConfig.from_mapping({**file, "env": env})
        states = file["env_options"]["states"]
        assert held_out(config) == {"states": f"{states}_held_out"}
    assert set(HELD_OUT).isdisjoint(HELD_OUT.values())
    other = RunConfig.from_mapping({"env": IDS[0], "env_options": {"states": "power_up"}})
    assert held_out(other) == {}


def test_comparisons_play_states_that_no_training_has_seen():
    config = RunConfig.from_mapping({**FILES[IDS[1]], "env": IDS[1]})
    judging = get_judging(IDS[1])
    (played,) = judging.evaluations(config, config.evaluation, COMPARE)
    assert (played.name, played.env) == ("episodes", IDS[1])
    asked = played.options
    assert (asked["states"], asked["max_steps"]) == ("lantern_walk_held_out", 512)
    assert asked["sticky"] == 0.25
    names = [each.name for each in judging.evaluations(config, config.evaluation, EVALUATE)]
    assert names == ["episodes", "beginning"]


@pytest.mark.parametrize(("rom", "known"), [("lantern_walk", True), ("parcel", False)])
def test_the_solver_plays_only_the_program_that_it_knows(rom, known):
    options = {"rom": rom, "states": "power_up"}
    config = RunConfig.from_mapping({"env": "GameBoyPixels-v0", "env_options": options})
    agent = SimpleNamespace(config=config, players=lambda: {"trained": "drift"})
    judging = get_judging(config.env)
    assert ("solver" in judging.players_of(agent, config.evaluation, EVALUATE)) == known
    engine = make_engine(config.env, 1, options)
    if known:
        assert Scripted(engine)
        return
    with pytest.raises(ConfigError, match=r"^rom=.parcel. is not possible: rom must be"):
        Scripted(engine)


def test_shares_are_of_episodes_that_ended_at_the_goal_or_came_that_far():
    ends = np.array([True, False, True, True])
    columns = {"player": np.full(4, "solver"), "seed": np.arange(4), "terminated": ends}
    columns |= {"items": np.array([4, 3, 5, 0]), "events": np.array([0, 1, 0, 0])}
    names = ("reached", "four_items", "first_event")
    drawn = Results(columns, get_judging(IDS[1]).about).estimate(names, resamples=100)
    means = drawn.means["solver"]
    assert [means[name].value for name in names] == [*(0.75, 0.5, 0.25)]
    assert 0 <= means["reached"].low <= 0.75 <= means["reached"].high <= 1


@needs_core
@pytest.mark.parametrize(
    ("env", "most"), [(IDS[0], 110), pytest.param(IDS[1], 250, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("step", [4, *late(1)])
@pytest.mark.parametrize("held_out", [False, *late(True)])
def test_the_scripted_player_gets_there_from_all_states(env, most, held_out, step):
    options = dict(FILES[env]["env_options"])
    states = options["states"]
    options |= {"states": HELD_OUT[states] if held_out else states, "max_steps": most}
    chosen = range(0, 64, step)
    engine = make_engine(env, len(chosen), options)
    for lane, state in enumerate(chosen):
        engine.configure("start_state", state, [lane])
    found = play_episodes(engine, Scripted, len(chosen), 0, most)
    assert found["terminated"].all()


@needs_core
@pytest.mark.parametrize("env", IDS)
@pytest.mark.slow
def test_a_run_trains_and_is_evaluated_from_other_states(env, tmp_path):
    small = {"num_envs": 4, "ppo.n_steps": 8, "ppo.batch_size": 16, "torch_threads": 1}
    small |= {"ppo.n_epochs": 1, "ppo.net_arch": "[8]", "env_options.max_steps": 4}
    small |= {"evaluation.episodes": 3, "evaluation.after_training": "true", "native.seq_len": 8}
    words = ["--env", env, "--total-steps", "64", "--name", "small", "--runs", str(tmp_path)]
    for name, value in small.items():
        words += ["--set", f"{name}={value}"]
    assert train.main(words) == 0
    (file,) = (tmp_path / "small").rglob("evaluation*.json")
    found = json.loads(file.read_text())
    episodes = found["episodes"]
    assert ("beginning" in found) == (env == IDS[1])
    if env == IDS[1]:
        assert found["beginning"]["policies"]["solver"]["intervals"]["reached"][0] == 1
    assert list(episodes["policies"]) == ["trained", "trained, drawn", "solver", "random_legal"]
    intervals = episodes["policies"]["trained"]["intervals"]
    assert 0 <= intervals["reached"][0] <= 1
    assert 4 < intervals["steps"][0] <= 512
