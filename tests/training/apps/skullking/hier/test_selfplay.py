"""Self-play and trained opponents of a pair: who plays, when the Manager bids, what is refused."""

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from fastenv.skullking.tables import Bot, Phase
from tests.bits import equal
from tests.slow import late
from tests.tables import walk
from tests.training.left import newest
from training.apps.skullking.hier.options import check
from training.apps.skullking.hier.trainer import HierTrainer
from training.apps.skullking.whole_games import Pair, PairNet
from training.nets import actor_critic
from training.nets.actor_critic import make_logits
from training.nets.distribution import Sampler, mode
from training.players.trained import load_policy
from training.run.jsonl import read_lines
from training.selfplay import pool as selfplay_pool
from training.selfplay.pool import PoolPlayer

AGENT = "pretrained/skullking-ppo"
# Games of two rounds; a rollout of the Worker has 128 decisions, one of the Manager 16.
GAME = {
    "num_envs": 16,
    "env_options": {"schedule": [1, 3], "opponents": "rule_easy", "agent_seat": "rotate"},
    "ppo": {"n_steps": 8, "batch_size": 64, "n_epochs": 1},
    "hier": {
        "mode": "game",
        "warm_start": 128,
        "ratio": 1.0,
        "manager": {"n_steps": 4, "num_envs": 8, "batch_size": 32},
    },
}
POOL = {"selfplay": {"start": 128, "every": 128, "bots": 0.25}}


@pytest.fixture
def make_player(hier_config, tmp_path):
    """Build a trainer of whole games with a pool in its folder, from changes of its options."""

    def make(*changes):
        config = hier_config(**GAME)
        for each in (POOL, *changes):
            config = config.from_mapping(_merged(config.to_dict(), each))
        return HierTrainer(config, folder=tmp_path)

    yield make
    torch.use_deterministic_algorithms(False)


def _merged(values, changes):
    found = dict(values)
    for name, value in changes.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = _merged(found[name], value) if both and name != "opponents" else value
    return found


# -- who plays -------------------------------------------------------------------------------------


class Best(Sampler):
    """Takes the most probable action, which can be told from the logits alone."""

    def __call__(self, log_probs, legal):
        return mode(log_probs)


def test_other_seats_are_played_by_the_snapshots_as_pairs(make_player, monkeypatch):
    monkeypatch.setattr(actor_critic, "POLICY_GAIN", 1.0)
    monkeypatch.setattr(selfplay_pool, "Sampler", Best)
    trainer = make_player()
    trainer.worker_plays = True
    act, asked, games = PoolPlayer.act, [], {}

    def games_of(number):
        if number not in games:
            both = trainer.league.pool.members[number].net
            nets = {"manager": both.manager, "worker": both.worker}
            logits = {name: make_logits(net) for name, net in nets.items()}
            games[number] = Pair(trainer.config.env_options, logits)
        return games[number]

    def watched(player, engine, lanes):
        actions = act(player, engine, lanes)
        deciding = player.snapshots[lanes, engine.get_places(lanes) - 1]
        rows, legal = engine.get_states(lanes), engine.mask[lanes] != 0
        for number in np.unique(deciding).tolist():
            own = np.flatnonzero(deciding == number)
            pair = games_of(number)
            logits = pair.logits(pair.encode(rows[own]))
            wanted = np.where(legal[own], logits, -np.inf).argmax(1)
            np.testing.assert_array_equal(actions[own], wanted)
            phases = np.unique(rows["phase"][own]).tolist()
            managers = player is trainer.league.engines[1].others
            asked.extend((managers, number, phase) for phase in phases)
        return actions

    monkeypatch.setattr(PoolPlayer, "act", watched)
    while trainer.steps < 900:
        trainer.iterate()
    assert {which for which, _, _ in asked} == {False, True}
    assert {phase for _, _, phase in asked} == {Phase.BID, Phase.PLAY}
    assert len({number for _, number, _ in asked}) > 2
    worker, manager = trainer.league.engines
    # a quarter of the lanes are the bots', of each source of goals
    for engine, bots in ((worker, np.arange(16) % 4 == 3), (manager, np.arange(8) < 2)):
        rows = engine.get_states()
        assert (rows["actor"] == rows["agent"]).all()
        external = (rows["bots"] == Bot.EXTERNAL).sum(1)
        np.testing.assert_array_equal(external, np.where(bots, 0, 3))


def test_a_snapshot_holds_both_networks_as_they_were(make_player):
    trainer = make_player()
    for _ in range(3):
        before = {
            f"{name}.{key}": value.clone()
            for name, each in trainer.trainers.items()
            for key, value in each.net.state_dict().items()
        }
        taken = len(trainer.league.pool.members)
        trainer.iterate()
        if len(trainer.league.pool.members) > taken:
            net = trainer.league.pool.members[taken].net
            assert isinstance(net, PairNet)
            assert equal(dict(net.state_dict()), before)
    assert taken


def test_ratings_are_of_the_managers_games_alone(make_player):
    trainer = make_player()
    said = {}
    while trainer.trainers["manager"].iteration < 4:
        found = details = trainer.iterate()
        games = sum(trainer.league.ratings.games.values())
        said.setdefault(details["policy"], []).append((games, found["train"]))
    assert not any("pool_win_rate" in train for _, train in said["worker"])
    assert said["worker"][-1][1]["pool_members"] >= 1
    games = [number for number, _ in said["manager"]]
    # 8 lanes, of which 2 are the bots'; a rollout has two games of each lane, the first one of
    # them all was dealt before there was a pool. Each compares the learner with three others.
    assert games == [18, 54, 90, 126]
    assert all(0 <= train["pool_win_rate"] <= 1 for _, train in said["manager"])


# -- when the Manager bids -------------------------------------------------------------------------


@pytest.mark.parametrize("others", ["selfplay", "agents"])
def test_the_managers_bid_is_made_before_others_play(make_player, monkeypatch, others):
    changes = (
        {} if others == "selfplay" else {"selfplay": None, "env_options": {"opponents": AGENT}}
    )
    trainer = make_player(changes)
    partner, worker = trainer.partners["manager"], trainer.engines[0]
    choose, step = partner.choose, worker._engine.step_many
    made, seen = {}, []

    def bids(obs, mask):
        actions = choose(obs, mask)
        rows = worker.get_states()
        lanes = bids.lanes
        for lane, bid, shown in zip(lanes, actions, obs, strict=True):
            row = rows[lane]
            assert row["tricks"] == 0
            assert (row["phase"] == Phase.BID) or row["bots"].max() < Bot.EXTERNAL
            made[lane] = int(bid)
            row = rows[[lane]].copy()
            row["actor"] = row["agent"]
            own = trainer.observer.encode_obs_many(row, trusted=True)[0]
            np.testing.assert_array_equal(shown, own)  # the agent's hand, nobody else's
        return actions

    begin = worker.on_begin

    def bidding():
        return np.isin(np.arange(worker.num_envs), trainer.goals.lanes["manager"])

    def begins(fresh, obs, mask):
        bids.lanes = np.flatnonzero(fresh & bidding()).tolist()
        begin(fresh, obs, mask)

    def steps(actions, obs_out=None, mask_out=None, select=None, autoreset=True):
        rows = worker.get_states()
        other = rows["actor"] != rows["agent"]
        playing = other & (rows["phase"] == Phase.PLAY) & (np.asarray(select) != 0)
        for lane in np.flatnonzero(playing & bidding()).tolist():
            assert rows["bid"][lane, rows["agent"][lane]] == made[lane]
            seen.append(int(rows["table_len"][lane]))
        step(actions, obs_out, mask_out, select=select, autoreset=autoreset)

    monkeypatch.setattr(partner, "choose", bids)
    monkeypatch.setattr(worker, "on_begin", begins)
    monkeypatch.setattr(worker._engine, "step_many", steps)
    while trainer.stage < 5:
        trainer.iterate()
    assert len(seen) > 50
    assert 0 in seen  # some of them lead
    # The trainer has been shown the bid as the goal.
    rows = worker.get_states()
    np.testing.assert_array_equal(
        trainer.trainers["worker"].rollout.obs[-1].numpy(), worker.encode_obs_many(rows)
    )


# -- trained opponents -----------------------------------------------------------------------------


def words(changes, prefix=""):
    found = []
    for name, value in changes.items():
        if isinstance(value, dict):
            found += words(value, f"{prefix}{name}.")
        else:
            found += ["--set", f"{prefix}{name}={str(value).replace(chr(39), '')}"]
    return found


@pytest.mark.parametrize("path", late(AGENT, "pair"))
def test_trained_opponents_are_trained_against(train_hier, tmp_path, path):
    flags = words(GAME)
    if path == "pair":
        assert train_hier("pair", *flags, "--total-steps", 300) == 0
        path = str(tmp_path / "pair")
    given = f"[{path}, rule_hard, {path}]"
    flags += words({"env_options": {"opponents": given}, "checkpoints": {"every": 128}})
    flags += words({"hier": {"gate": {"target": 0.05, "every": 1}}})  # its test meets them too
    assert train_hier("whole", *flags, "--total-steps", 700, evaluation=True) == 0
    assert train_hier("parts", *flags, "--total-steps", 400) == 0
    assert train_hier("parts", "--total-steps", 700, resume=True) == 0
    whole, parts = (newest(tmp_path / name) for name in ("whole", "parts"))
    assert equal(whole.model, parts.model)
    assert whole.rows.tobytes() == parts.rows.tobytes()
    assert (tmp_path / "whole/certificates/gate_0001.json").is_file()
    rows = read_lines(tmp_path / "whole/metrics.jsonl")
    assert {row["policy"] for row in rows} == {"worker", "manager"}
    load_policy(tmp_path / "whole").make().reset(seed=0)  # with the game's own bots


# -- a run that goes on ----------------------------------------------------------------------------


def test_before_the_first_snapshot_nothing_is_different(train_hier, tmp_path):
    assert train_hier("plain", *words(GAME), "--total-steps", 600) == 0
    later = words({"selfplay": {"start": 10_000}})
    assert train_hier("later", *words(GAME), *later, "--total-steps", 600) == 0
    plain, later = newest(tmp_path / "plain"), newest(tmp_path / "later")
    assert equal(plain.model, later.model)
    assert plain.rows.tobytes() == later.rows.tobytes()
    assert plain.values["selfplay"] is None


# -- what is refused -------------------------------------------------------------------------------


@walk(
    ("changes", "says"),
    [
        ({"selfplay": {"start": 0}, "hier": {"mode": "round"}}, "hier.mode='round'"),
        ({"env_options": {"opponents": AGENT}, "hier": {"mode": "round"}}, "hier.mode='round'"),
        ({"selfplay": {"start": 0}, "env_options": {"opponents": AGENT}}, "or selfplay"),
        ({"env_options": {"opponents": f"[{AGENT}, random]"}}, "3 names"),
        ({"env_options": {"opponents": "no/where"}}, "must be a run folder"),
        ({"env_options": {"opponents": f"search:{AGENT}"}}, "play whole games alone"),
        ({"env_options": {"opponents": "external"}}, "section selfplay alone"),
        (
            {"env_options": {"opponents": AGENT}, "schedules": {"opponents": "[[0, random]]"}},
            "left out: trained agents are the opponents",
        ),
        ({"env_options": {"opponents": AGENT, "num_players": 3}}, "cannot sit at this table"),
        ({"selfplay": {"start": 0}, "env_options": {"invalid_action": "penalty"}}, "'raise'"),
        ({"selfplay": {"start": 0}, "hier": {"worker": {"hindsight": "value"}}}, "'off' with self"),
        ({"selfplay": {"keep": 0}}, "selfplay.keep=0"),
    ],
)
def test_what_cannot_be_is_refused_with_nothing_written(
    train_hier, tmp_path, capsys, changes, says
):
    assert train_hier("bad", *words(GAME), *words(changes)) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "bad").exists()


def test_a_trainer_of_rounds_alone_refuses_others_itself(hier_config):
    with pytest.raises(ConfigError, match="before the Manager has bid"):
        check(hier_config(selfplay={"start": 0}))
