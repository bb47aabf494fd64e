"""What training knows of Dr. Mario: where placements lie, what networks see, and how it ends."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from fastenv import BatchEngine
from fastenv.drmario import make_game
from fastenv.drmario.tables import NUM_PLACEMENTS, Reason
from training import evaluate, train
from training.callbacks.start import check_config
from training.evaluation import replays
from training.evaluation.judging import get_judging
from training.evaluation.results import Results
from training.games.drmario import PLACEMENT
from training.games.drmario.observation import COST_UNIT, cells_of_placements
from training.nets.actor_critic import ActorCritic
from training.nets.distribution import Sampler, entropy, masked_log_probs
from training.nets.encoders import make_encoder
from training.nets.layout import as_tensor, obs_layout
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.run import make_trainer
from training.run.config import RunConfig
from training.run.config_files import load_file
from training.run.envs import make_engine
from training.run.option_layers import CONFIGS, merge_layers, parser

LANES = 8
PAGE = Path(__file__).resolve().parents[3] / "docs/howto/train_drmario.md"


def engine_of(level, **options):
    game = make_game(level=level, **{**PLACEMENT.env_options, **options})
    game.env_id = "DrMarioPlacement-v0"
    return BatchEngine(game, LANES, info_columns=("board", "tiles_total", "reason", "success"))


def test_the_curriculum_of_the_page_is_one_that_a_run_takes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    check_config(RunConfig.from_mapping({"env": "DrMarioPlacement-v0", **yaml.safe_load(text)}))


def test_a_placement_fills_the_cells_that_training_is_told():
    cells, seen = cells_of_placements(), set()
    assert sum(min(pair) >= 0 for pair in cells) == 464
    engine, rng = engine_of(10), np.random.default_rng(1)
    engine.reset_many(seeds=1)
    while not engine.ended.any():
        before = engine.info["board"].copy()
        actions = [int(rng.choice(np.flatnonzero(mask))) for mask in engine.mask]
        engine.step_many(np.array(actions), autoreset=False)
        quiet = ~engine.ended & (engine.info["tiles_total"] == 0)
        for lane in np.flatnonzero(quiet):
            changed = np.flatnonzero(before[lane] != engine.info["board"][lane])
            assert set(changed.tolist()) == set(cells[actions[lane]]), (lane, actions[lane])
            seen.add(actions[lane] // 128)
    assert seen == {0, 1, 2, 3}


def test_networks_see_planes_colours_and_costs():
    engine = engine_of(3)
    engine.reset_many(seeds=5)
    layout = obs_layout(engine)
    native = NativeConfig(trunk="shared", heads="placements", value_loss="huber")
    net = ActorCritic(layout, PPOConfig(net_arch=(16,)), native, seed=1)
    (conv,) = net.encoder.convs
    assert (conv.field.name, conv.layers[0].in_channels, conv.num_cells) == ("planes", 14, 128)
    features = net.encoder(as_tensor(engine.obs)).detach()  # 4 given colours, any, 9 others
    costs = features[:, net.encoder.places["costs"]]
    shown = engine.obs["costs"].reshape(LANES, -1)
    np.testing.assert_allclose(costs * COST_UNIT, shown, rtol=1e-5)
    assert ((shown >= 0) == engine.mask.astype(bool)).all()


@pytest.mark.parametrize("kind", ["auto", "flat", "pixels"])
def test_every_encoder_sees_colours_by_what_they_are_equal_to(kind):
    engine = engine_of(3)
    engine.reset_many(seeds=5)
    encoder = make_encoder(obs_layout(engine), kind)
    renamed = engine.obs.copy()
    renamed["planes"][:, :3] = engine.obs["planes"][:, [1, 2, 0]]
    renamed["pill"] = engine.obs["pill"][..., [1, 2, 0]]
    first, second = as_tensor(engine.obs), as_tensor(renamed)
    assert not torch.equal(first, second)
    with torch.no_grad():
        found = encoder(first)
        torch.testing.assert_close(encoder(second), found)
    assert found.shape == (LANES, encoder.size_out)
    if kind == "pixels":
        assert encoder.trunk.stem[0].in_channels == 14


@pytest.mark.parametrize("heads", ["single", "placements", "map"])
def test_placements_that_cannot_be_reached_are_never_drawn(heads):
    engine = engine_of(20)
    engine.reset_many(seeds=5)
    net = ActorCritic(
        obs_layout(engine), PPOConfig(net_arch=(16,)), NativeConfig(heads=heads), seed=1
    )
    mask = torch.from_numpy(engine.mask.astype(bool))
    logits = net.logits(as_tensor(engine.obs))
    assert logits.shape == (LANES, NUM_PLACEMENTS)
    log_probs = masked_log_probs(logits, mask)
    assert (log_probs.exp()[~mask] == 0).all()
    assert (entropy(log_probs, mask) <= torch.log(mask.sum(1).float()) + 1e-4).all()
    sampler = Sampler(3, torch.device("cpu"))
    for _ in range(50):
        drawn, _ = sampler.draw(logits, mask)
        assert mask[torch.arange(LANES), drawn].all()


@pytest.mark.parametrize("options", [{"extras": ()}, {"obs": "bitplane_reduced_mask"}])
def test_other_observations_have_their_planes_first_too(options):
    layout = obs_layout(engine_of(0, **options))
    (planes,) = [field for field in layout.fields if field.is_image]
    assert planes.sides == (16, 8)
    assert layout.parts.placements.board == planes.name


def options_of(*words):
    return merge_layers(parser().parse_args(words), {})


def test_whoever_names_the_placements_alone_gets_the_options_that_learn():
    options = options_of("--env", "DrMarioPlacement-v0", "--trainer", "native")
    file = RunConfig.from_mapping(load_file(CONFIGS / "drmario.yaml"))
    for name in ("ppo", "native", "num_envs", "env_options"):
        assert getattr(options, name) == getattr(file, name)
    assert (options.native.heads, options.total_steps) == ("placements", file.total_steps)
    assert options_of("--env", "DrMarioPlacement-v0", "--trainer", "sb3").ppo.n_steps == 128
    frames = options_of("--env", "DrMarioFrame-v0")
    assert frames.native == NativeConfig()


@pytest.mark.parametrize("mode", ["linear", "adaptive"])
def test_levels_are_stages_of_a_curriculum(mode):
    stages = [{"name": f"level {n}", "knobs": {"level": n}} for n in range(-15, 1)]
    gate = {"mode": mode, "stages": stages, "success": {"info": "success", "at_least": 1}}
    gate |= {"target": 0.8, "n_max": 10_000, "tests": 60, "watch": True}
    check_config(RunConfig.from_mapping({**load_file(CONFIGS / "drmario.yaml"), "gate": gate}))


@pytest.mark.slow
def test_its_options_learn_to_stay_alive():
    """That comes first: bottles are cleared after some ten times as many decisions."""
    words = ("--env", "DrMarioPlacement-v0", "--trainer", "native")
    config = options_of(*words, "--set", "deterministic=true")
    ended = []

    def follow(engine, actions, obs, mask):
        if actions is not None:
            ended.extend(engine.ep_length[engine.terminated | engine.truncated].tolist())

    trainer = make_trainer(config)
    trainer.on_step = follow
    lengths = []
    for _ in range(3):
        ended.clear()
        for _ in range(4):
            trainer.iterate()
        lengths.append(np.mean(ended))
    # Processors round differently: on some the second hardly begins, on some the third falls back.
    assert np.mean(lengths[1:]) > 1.25 * lengths[0], lengths


def test_clears_and_timeouts_are_shares_and_frames_are_those_of_clears():
    found = Results(
        {
            "player": np.full(5, "x"),
            "seed": np.arange(5),
            "reason": np.array([Reason.CLEAR, Reason.TOPOUT, Reason.TIMEOUT, Reason.CLEAR, 0]),
            "given_up": np.array([False, False, False, False, True]),
            "ticks": np.array([1000, 10, 99_999, 2000, 99_999]),
        },
        get_judging("DrMarioPlacement-v0").about,
    )
    names = ("clear", "timeout", "frames_to_clear")
    means = found.estimate(names, resamples=200).means["x"]
    assert [means[name].value for name in ("clear", "timeout", "frames_to_clear")] == [
        *(0.4, 0.4),
        1500.0,
    ]
    assert 1000 <= means["frames_to_clear"].low <= means["frames_to_clear"].high <= 2000
    assert 0 <= means["clear"].low < 0.4 < means["clear"].high <= 1


def test_decisions_last_and_bots_are_there_to_compare_with():
    assert engine_of(0).spec.has_tau
    assert set(PLACEMENT.bots) <= set(engine_of(0).game.bot_names)


def test_a_match_is_evaluated_and_recorded_as_one_agent(capsys):
    """Columns with an entry a player stand for the one who is evaluated."""
    flags = ["--bots", "--env", "DrMarioVersus-v0", "--episodes", "3"]
    assert evaluate.main(flags) == 0
    assert "greedy" in capsys.readouterr().out
    engine = make_engine("DrMarioVersus-v0", 1)
    engine.reset_many(seeds=1)
    actions = []
    for refused in (False, True):
        mask = engine.mask[0].astype(bool)
        actions.append(int((~mask if refused else mask).argmax()))
        engine.step_many(np.array(actions[-1:]), autoreset=False)
    recorded = replays.record("DrMarioVersus-v0", {}, 1, actions)
    assert [frame["events"] for frame in recorded.frames] == [[], ["invalid_action"]]


def test_matches_are_trained_for_and_judged_by_wins(tmp_path, capsys):
    """Nobody is named: the opponent is the game's own, and the learner sits in both seats."""
    config = {
        "env": "DrMarioVersus-v0",
        "env_options": {"level": 0, "speed": "high"},
        "num_envs": 4,
        "total_steps": 64,
        "torch_threads": 1,
        "ppo": {"n_steps": 8, "batch_size": 32, "n_epochs": 1, "net_arch": [8]},
        "native": {"trunk": "shared", "heads": "placements"},
        "shaping": {"phi": "viruses", "kappa": 4},
        "evaluation": {"during": "inline", "curve_episodes": 2, "episodes": 2, "bootstrap": 50},
    }
    (tmp_path / "versus.json").write_text(json.dumps(config))
    flags = ["--config", tmp_path / "versus.json", "--runs", tmp_path, "--name", "run"]
    assert train.main([str(flag) for flag in flags]) == 0
    said = capsys.readouterr().out
    assert "compared with: the best scripted player" in said
    assert re.search(r"^even share +50\.0 +50\.0", said, re.MULTILINE)
    (line,) = map(json.loads, (tmp_path / "run/evaluations.jsonl").read_text().splitlines())
    assert line["decides"] == "win, random"
    assert 0 <= line["results"]["win, random"][0] <= 1
    found = json.loads((tmp_path / "run/evaluation.json").read_text())["matches"]
    assert list(found["results"]) == ["random", "attack2"]
    wins = {name: of["win"][0] for name, of in found["results"]["random"].items()}
    assert list(wins) == ["trained", "attack2", "lookahead2", "greedy", "first", "random"]
    assert wins["greedy"] == 1.0
    assert wins["first"] == 0.0
    points = found["results"]["attack2"]["first"]["points"]  # of those that fill up alone
    assert points == [-1.0, -1.0, -1.0]
