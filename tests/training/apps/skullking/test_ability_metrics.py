"""Measures of pirate abilities, held to an account that a reader of the rules would keep."""

import json
from collections import defaultdict
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

import fastenv
from fastenv.skullking.position import load
from fastenv.skullking.reference import SkullKing
from fastenv.skullking.state import STATE_DTYPE
from fastenv.skullking.tables import STRENGTH, Phase
from tests.slow import late, together
from tests.tables import walk
from training.apps.skullking import goals
from training.apps.skullking.abilities import MEASURES, Account, play_abilities
from training.evaluation.evaluation import Evaluation, play
from training.players.bots import Bot
from training.run.config import EvaluationConfig
from training.run.envs import make_engine

ABILITY = "SkullKingAbility-v0"
SEED = 1234
DRAWS = np.random.default_rng(5).integers(1 << 30, size=(1200, 400))  # of a step, of a lane
GOAL_2 = {"goal_mode": "fixed", "goal": 2}
ILLEGAL = 5  # an action among so many is illegal, where illegal actions are allowed


def plan(lanes, options):
    """Return rounds that all players play alike."""
    seeds = range(SEED, SEED + lanes)
    return Evaluation("goals", ABILITY, options, seeds=seeds, draws=0, lanes=lanes)


def pick(mask, draw, penalty):
    """Return a random legal action; with a penalty sometimes an illegal one, if there is any.

    Half of the time it is the first: pirates come early in a hand, and 0 is oneself for Rosie.
    """
    wanted = 0 if penalty and draw % ILLEGAL == 0 and not mask.all() else 1
    possible = np.flatnonzero(mask == wanted)
    return int(possible[max(0, draw // ILLEGAL % (2 * len(possible)) - len(possible))])


class Drawn:
    """Plays at random, as drawn beforehand, so that an environment can play the same."""

    def __init__(self, penalty, engine):
        self.penalty, self.step = penalty, 0

    def begin(self, engine, lanes, seeds=None):
        self.step = 0

    def act(self, engine, lanes):
        draws, self.step = DRAWS[self.step], self.step + 1
        pairs = zip(engine.mask[lanes], draws[lanes], strict=True)
        return np.array([pick(mask, draw, self.penalty) for mask, draw in pairs], np.int32)


def strength(hand):
    return sum(STRENGTH[card] for card in hand)


def told(env, seed, lane, penalty):
    """Return what an episode's pirates came to, from what lies on the table before and after."""
    notes = defaultdict(list)
    bet = led = None
    _, info = env.reset(seed=seed)
    config = env.unwrapped.engine.game.config
    after = game_of(env, SkullKing(config.rules_record(), config.default_knobs(1)))
    for step in range(len(DRAWS)):
        before, action = after, pick(info["action_mask"], DRAWS[step, lane], penalty)
        *_, terminated, truncated, info = env.step(action)
        after = game_of(env, before)
        if action not in before.legal_actions():
            assert not truncated
            continue
        me, needed = before.agent, before.bid[before.agent] - before.won[before.agent]
        hand, left = before.hand[me], before.cards - before.tricks
        if led is not None and after.tricks > led.tricks:
            notes["rosie_kept_won"].append(after.won[me] > led.won[me])
            led = None
        if before.phase == Phase.ROSIE:
            notes["rosie_kept"].append(after.leader == me)
            led = before if after.leader == me else None
        if before.phase == Phase.BENDT_1:
            held = hand[:left]  # the cards drawn stand behind it
        if before.phase in (Phase.BENDT_1, Phase.BENDT_2) and len(after.hand[me]) == left:
            change = strength(after.hand[me]) - strength(held)
            notes["bendt"].append(change)
            notes["bendt_needed" if needed > 0 else "bendt_not_needed"].append(change)
        if before.phase == Phase.RASCAL:
            bet = 10 * action
        made = after.bid[me] == after.won[me]
        if before.phase == Phase.HARRY:
            notes["harry_saves"].append(made and before.bid[me] != before.won[me])
            notes["harry_wins"].append(made)
        if terminated:
            if bet is not None:
                notes["rascal_points"].append(bet if made else -bet)
            if bet:
                notes["rascal_won"].append(made)
            return notes
    raise AssertionError("the episode did not end")


def game_of(env, like):
    """Return the game of a single environment as plain values; ``like`` has its rules."""
    game = SkullKing(like.rules, like.knobs)
    load(game, env.unwrapped.engine.get_states()[0])
    return game


@pytest.mark.parametrize(
    ("lanes", "options"),
    together(
        [
            (400, GOAL_2),
            (
                200,
                {"num_players": 3, "schedule": [9], "tigress": "agent", "opponents": "random"},
            ),
            (
                200,
                {
                    "num_players": 2,
                    "schedule": [10],
                    "agent_seat": 1,
                    "invalid_action": "penalty",
                },
            ),
            # 72 of 73 cards are dealt: Bendt draws one.
            (300, {"num_players": 8, "schedule": [9], "deck": "no_kraken", **GOAL_2}),
        ],
        2,
    ),
)
@pytest.mark.parametrize("step", [5, *late(1)])
def test_measures_are_those_of_an_account_by_hand(lanes, options, step):
    penalty = options.get("invalid_action") == "penalty"
    account = Account(lanes)
    play(plan(lanes, options).by({"x": partial(Drawn, penalty)}), watch={"x": account})
    env = fastenv.make(ABILITY, backend="reference", **{"invalid_action": "raise", **options})
    for lane in range(0, lanes, step):
        notes = told(env, SEED + lane, lane, penalty)
        for name in MEASURES:
            assert account.counts[name][lane] == len(notes[name]), (lane, name)
            assert account.sums[name][lane] == pytest.approx(sum(notes[name]), abs=1e-12)
    for name in MEASURES:  # it all occurs, and not always the same
        seen = account.sums[name][account.counts[name] > 0]
        assert len(set(seen.round(9).tolist())) > 1, name


# -- positions by hand -----------------------------------------------------------------------------


def asked(phase, enough=lambda row: True):
    """Return an engine and the row of a game in which the agent is asked about a pirate."""
    engine, rng = make_engine(ABILITY, 500, {"schedule": [8]}), np.random.default_rng(0)
    engine.reset_many(seeds=0)
    for _ in range(100):
        for lane in np.flatnonzero(engine.info["decision_phase"] == phase):
            row = engine.get_states(int(lane))[0]
            if enough(row):
                return engine, row
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
    raise AssertionError("nobody was asked")


def watched(engine, rows, *actions):
    """Return the account of lanes that go on from rows with some actions each."""
    lanes = np.arange(len(rows))
    engine.set_states(rows, lanes)
    running = np.arange(engine.num_envs) < len(rows)
    account = Account(engine.num_envs)
    for chosen in actions:
        engine.step_many(np.resize(chosen, engine.num_envs), select=running, autoreset=False)
        account(engine, lanes)
    return account


def test_harry_saves_a_bid_that_he_makes_exact_and_wins_with_one_he_leaves_so():
    engine, row = asked(Phase.HARRY, lambda row: row["won"][row["agent"]] < 7)
    rows = np.repeat(row[None], 9)
    rows["bid"][:, row["agent"]] = row["won"][row["agent"]] + np.repeat([-1, 0, 1], 3)
    account = watched(engine, rows, np.tile([0, 1, 2], 3))
    # one below: only +1 saves; exact: only 0 keeps it; one above: only -1 saves
    assert account.sums["harry_saves"][:9].tolist() == [0, 0, 1, 0, 0, 0, 1, 0, 0]
    assert account.sums["harry_wins"][:9].tolist() == [0, 0, 1, 0, 1, 0, 1, 0, 0]
    assert account.counts["harry_saves"][:9].tolist() == [1] * 9


def test_bendt_is_the_strength_of_the_cards_kept_less_that_of_the_cards_held():
    engine, row = asked(Phase.BENDT_1)
    agent = row["agent"]
    hand = row["hand"][agent, : row["hand_len"][agent]].tolist()
    drawn, last = hand[-2:], len(hand) - 1
    account = watched(engine, np.repeat(row[None], 2), [0, last], [1, last - 1])
    assert account.sums["bendt"][0] == pytest.approx(strength(drawn) - strength(hand[:2]))
    assert account.sums["bendt"][1] == 0  # the cards drawn are thrown away again
    assert account.counts["bendt"][:3].tolist() == [1, 1, 0]


def events(**values):
    """Return an engine of one lane with these events of its last step."""
    row = np.zeros(1, STATE_DTYPE)
    for name, value in {"ev_phase": Phase.PLAY, "phase": Phase.PLAY, **values}.items():
        row[name] = value
    return SimpleNamespace(get_states=lambda lanes: row[lanes])


@walk(("result", "won"), [(1, 1), (2, 0)])  # 2: lost, or destroyed
def test_rosies_trick_is_the_one_that_ends_next(result, won):
    account, lanes = Account(1), np.array([0])
    account(events(ev_trick=1, phase=Phase.ROSIE), lanes)
    account(events(ev_phase=Phase.ROSIE), lanes)  # action 0: oneself
    account(events(phase=Phase.TIGRESS), lanes)  # the card played is the Tigress
    account(events(ev_phase=Phase.TIGRESS, ev_trick=result), lanes)
    account(events(ev_trick=1), lanes)  # the trick after it
    assert account.counts["rosie_kept"] == account.sums["rosie_kept"] == 1
    assert account.counts["rosie_kept_won"] == 1
    assert account.sums["rosie_kept_won"] == won


def test_lead_given_away_is_not_kept():
    account, lanes = Account(1), np.array([0])
    account(events(ev_phase=Phase.ROSIE, ev_action=2), lanes)
    account(events(ev_trick=1), lanes)
    assert (account.counts["rosie_kept"], account.sums["rosie_kept"]) == (1, 0)
    assert account.counts["rosie_kept_won"] == 0


def test_rascals_bet_is_settled_by_the_bid_and_no_bet_brings_nothing():
    for action, bid, points in ((0, 3, 0), (1, 3, 10), (2, 4, -20)):
        account, lanes = Account(1), np.array([0])
        account(events(ev_phase=Phase.RASCAL, ev_action=action), lanes)
        account(events(ev_round=5, ev_bid=bid, ev_won=3, ev_bet=10 * action), lanes)
        assert (account.counts["rascal_points"], account.sums["rascal_points"]) == (1, points)
        assert account.counts["rascal_won"] == (action > 0)
        assert account.sums["rascal_won"] == (points > 0)


def test_lanes_that_wait_do_not_count():
    account = Account(1)
    account(events(ev_phase=Phase.HARRY, ev_round=1), np.array([], np.int64))
    assert not any(count.any() for count in account.counts.values())


# -- what is reported ------------------------------------------------------------------------------


def compared(options, lanes):
    players = {name: partial(Bot, name) for name in ("random", "rule_hard")}
    played = play_abilities(plan(lanes, {"schedule": [10], **options}).by(players))
    return played, played.estimate(MEASURES, resamples=200).means


def test_rule_bots_use_abilities_as_the_rules_of_bots_say():
    played, found = compared({}, 3000)
    rule, random = found["rule_hard"], found["random"]
    assert rule["rosie_kept"].to_list() == [1, 1, 1]
    assert random["rosie_kept"].low < 1 / 4 < random["rosie_kept"].high
    assert rule["bendt_not_needed"].high < 0 < rule["bendt_needed"].low
    assert random["harry_saves"].high < rule["harry_saves"].low
    record = goals._report_abilities(Console(quiet=True), EvaluationConfig(), played)
    record = json.loads(json.dumps(record, allow_nan=False))
    assert set(record["results"]) == set(record["counted"]) == {"random", "rule_hard"}
    assert list(record["results"]["random"]) == list(MEASURES)
    counted = played.of(player="random")["rosie_kept_count"].sum()
    assert record["counted"]["random"]["rosie_kept"] == counted > 0


def test_what_rules_decide_is_not_counted():
    _, found = compared({"pirates": ["harry"]}, 300)
    seen = {name for name, interval in found["rule_hard"].items() if not np.isnan(interval.value)}
    assert seen == {"harry_saves", "harry_wins"}
    _, found = compared({"abilities": "auto"}, 300)
    assert all(value.to_list() == [None] * 3 for value in found["rule_hard"].values())
