"""The averaged policy as magnet and as what is given away, and the learner as its own opponent."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.needs import needs_core
from tests.tables import walk
from training import export as export_command
from training.nets.actor_critic import ActorCritic
from training.nets.layout import ObsLayout
from training.players.trained import load
from training.ppo.average import AveragedPolicy
from training.ppo.options import NativeConfig, PPOConfig
from training.ppo.run import make_trainer
from training.run import checkpoint
from training.run.config import RunConfig
from training.run.folder import RunFolder
from training.run.option_layers import merge_layers, parser
from training.selfplay.pool import LATEST

SECTIONS = PPOConfig(net_arch=(8,)), NativeConfig()
DECISIONS = 12  # of a rollout of 4 x 3


def net_of(seed):
    return ActorCritic(ObsLayout(5, 3), *SECTIONS, seed)


def rollout_of(seed=0):
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand((5, 3, 3), generator=generator) < 0.7
    mask[..., 0] = True
    obs = torch.rand((5, 3, 5), generator=generator)
    return SimpleNamespace(steps=4, lanes=3, obs=obs, mask=mask)


def weights(net):
    return torch.cat([each.detach().flatten() for each in net.parameters()])


def test_the_average_begins_as_the_learner_and_then_moves_by_the_share_of_a_rollout():
    net = net_of(1)
    average = AveragedPolicy(net, 5, 0.0, seed=0)
    net.load_state_dict(net_of(2).state_dict())  # as first parameters are
    average.begin(rollout_of(), 2)
    assert torch.equal(weights(average.net), weights(net_of(2)))
    net.load_state_dict(net_of(3).state_dict())
    average.begin(rollout_of(), 2)
    kept = np.exp(-DECISIONS / 3)  # at first the mean is over a quarter of the decisions
    wanted = kept * weights(net_of(2)) + (1 - kept) * weights(net_of(3))
    torch.testing.assert_close(weights(average.net), wanted)
    net.load_state_dict(net_of(4).state_dict())
    average.begin(rollout_of(), 2)
    kept = np.exp(-DECISIONS / 5)
    wanted = kept * wanted + (1 - kept) * weights(net_of(4))
    torch.testing.assert_close(weights(average.net), wanted)
    assert average.loss(net, 0) is None
    assert average.metrics() == {}


def test_the_magnet_is_the_mean_divergence_from_the_average():
    net = net_of(1)
    average, rollout = AveragedPolicy(net, 10, 0.5, seed=0), rollout_of(1)
    average.begin(rollout, 2)
    with torch.no_grad():
        net.policy_head.weight.normal_(generator=torch.Generator().manual_seed(4))
    found = sum(average.loss(net, part).detach() for part in range(2)) / 2
    total = 0.0
    for obs, mask in zip(rollout.obs[:4].view(12, 5), rollout.mask[:4].view(12, 3), strict=True):
        chances = [each(obs[None])[0][0][mask].softmax(0) for each in (net, average.net)]
        total += float((chances[0] * (chances[0] / chances[1]).log()).sum().detach())
    assert total > 0.1
    assert float(found) == pytest.approx(0.5 * total / 12, rel=1e-4)
    assert average.metrics()["magnet_kl"] == pytest.approx(total / 12, rel=1e-4)


def test_the_magnet_pulls_the_learner_to_the_average():
    net, rollout = net_of(1), rollout_of()
    average = AveragedPolicy(net, 10, 1.0, seed=0)
    average.begin(rollout, 1)
    with torch.no_grad():
        net.policy_head.weight.normal_(generator=torch.Generator().manual_seed(4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(30):
        loss = average.loss(net, 0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 3
    assert all(each.grad is None for each in average.net.parameters())


def test_the_average_sees_observations_on_the_scale_of_the_learner():
    sections = SECTIONS[0], NativeConfig(normalize_observations=True)
    net = ActorCritic(ObsLayout(5, 3), *sections, 1)
    average, rollout = AveragedPolicy(net, 10, 1.0, seed=0), rollout_of()
    net.encoder.update(100 + 10 * rollout.obs.flatten(0, 1))
    average.begin(rollout, 1)
    assert float(average.loss(net, 0).detach()) == 0
    obs = 100 + 10 * rollout.obs[0]
    assert torch.equal(average.net.logits(obs), net.logits(obs))


# -- in a run --------------------------------------------------------------------------------------

KUHN = {
    "env": "KuhnPoker-v0",
    "num_envs": 16,
    "total_steps": 1024,
    "torch_threads": 1,
    "deterministic": True,
    "ppo": {"n_steps": 8, "batch_size": 64, "n_epochs": 1, "net_arch": [8]},
    "selfplay": {"start": 0, "every": 256, "bots": 0, "latest": 0.5, "average": 500, "magnet": 0.2},
    "evaluation": {"after_training": False},
}


def trainer_of(folder, **selfplay):
    folder.mkdir(exist_ok=True)
    config = RunConfig.from_mapping({**KUHN, "selfplay": KUHN["selfplay"] | selfplay})
    return make_trainer(config, folder=folder)


@needs_core
def test_the_latest_opponent_is_the_learner_as_the_iteration_begins(tmp_path):
    trainer = trainer_of(tmp_path / "run", latest=1.0)
    (engine,) = trainer.league.engines
    for _ in range(3):
        before = weights(trainer.net).clone()
        trainer.iterate()
        latest = weights(trainer.league.pool.net(LATEST))
        assert torch.equal(latest, before)
        assert not torch.equal(latest, weights(trainer.net))
    assert (engine.others.snapshots == LATEST).all()
    assert sum(trainer.league.ratings.games.values()) == 0  # nobody is compared with itself


@needs_core
def test_a_share_of_the_opponents_is_the_latest(tmp_path):
    trainer = trainer_of(tmp_path / "run", latest=0.5)
    for _ in range(6):
        trainer.iterate()
    drawn = trainer.league.engines[0].others.snapshots
    assert set(np.unique(drawn)) > {LATEST}
    assert sum(trainer.league.ratings.games.values()) > 0


@walk(
    ("changes", "says"),
    [
        ({"selfplay": {"magnet": 0.1}}, "selfplay.magnet=0.1"),
        ({"selfplay": {"average": -1}}, "selfplay.average=-1"),
        ({"selfplay": {"latest": 1.5}}, "selfplay.latest=1.5"),
        ({"trainer": "expert", "selfplay": {"average": 5}}, "0 with trainer='expert'"),
    ],
)
def test_what_is_not_possible_is_refused(changes, says):
    values = {**KUHN, **changes}
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_mapping(values)
    assert says in str(refused.value)


# -- the commands ----------------------------------------------------------------------------------


def merged(*words):
    said = []
    args = parser().parse_args([str(word) for word in words])
    return merge_layers(args, {}, said.append), said


def test_self_play_takes_the_options_of_mixing_where_a_game_needs_it():
    config, said = merged("--env", "LeducPoker-v0", "--set", "selfplay={}")
    assert config.selfplay.latest == 1
    assert config.selfplay.magnet > 0
    (line,) = said
    assert line.startswith("LeducPoker-v0 needs mixed strategies, so self-play takes")
    assert "selfplay.latest=1" in line
    own, said = merged(
        *("--env", "LeducPoker-v0", "--set", "selfplay={magnet: 0, average: 9}"),
        *("--set", "ppo.learning_rate=0.01"),
    )
    assert (own.selfplay.magnet, own.selfplay.average, own.selfplay.latest) == (0, 9, 1)
    assert own.ppo.learning_rate == 0.01
    assert "selfplay.latest=1" in said[0]
    assert "magnet" not in said[0]


@walk("words", [("--env", "LeducPoker-v0"), ("--env", "DrMarioVersus-v0", "--set", "selfplay={}")])
def test_other_trainings_keep_their_options(words):
    config, said = merged(*words)
    plain = config.selfplay
    assert plain is None or (plain.latest, plain.average, plain.magnet) == (0, 0, 0)
    assert not any("mixed" in line for line in said)


@needs_core
def test_export_gives_the_average_away(train, tmp_path, capsys):
    flags = [f"{name}={value}" for name, value in KUHN.items() if name != "deterministic"]
    words = [word for each in flags for word in ("--set", each.replace("True", "true"))]
    assert train(tmp_path, "kuhn", *words, config=None) == 0
    where = ("--runs", str(tmp_path))
    assert export_command.main(["kuhn", str(tmp_path / "mean"), "--average", *where]) == 0
    assert export_command.main(["kuhn", str(tmp_path / "last"), *where]) == 0
    newest = checkpoint.newest(tmp_path / "kuhn" / "checkpoints")
    saved = checkpoint.load(newest, {}).model
    mean, last = (load(RunFolder.open(tmp_path / name)) for name in ("mean", "last"))
    for trained, source in ((mean, saved["auxiliary"]["average"]), (last, saved["policy"])):
        own = checkpoint.load(trained.path, {}).model["policy"]
        assert own
        assert all(torch.equal(value, source[name]) for name, value in own.items())
    capsys.readouterr()
    assert export_command.main([str(tmp_path / "last"), str(tmp_path / "no"), "--average"]) == 2
    said = capsys.readouterr().err
    assert "last keeps no averaged policy (selfplay.average)" in said
    assert not (tmp_path / "no").exists()
    assert export_command.main(["kuhn", "--onnx", "--average", *where]) == 2
    assert "--average=True" in capsys.readouterr().err
