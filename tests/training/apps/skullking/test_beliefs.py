"""Beliefs of Skull King: rounds as they were, rebuilt, and how likely decisions were in them."""

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from fastenv.skullking.tables import Bot, Phase
from tests.slow import diagonal, every
from tests.tables import walk
from training.apps.skullking.beliefs import DOUBT, TRUST, HandBelief
from training.apps.skullking.round_record import RoundRecord, is_bidding
from training.players.policy import EnvSpec, Policy

FLAT = "SkullKingFlat-v0"
TIERS = (FLAT, "SkullKingManager-v0", "SkullKingWorker-v0", "SkullKingAbility-v0")
TABLES = {
    "four": {},
    "memory": {"obs_ext": "memory"},
    "tigress": {"tigress": "agent", "num_players": 3},
    "seven": {"num_players": 7, "schedule": (3, 10)},
    "graybeard": {"num_players": 2},
    "compat": {"preset": "pi_compat"},
    "cannon": {"scoring": "rascal_cannon"},
    "abilities": {"abilities": "agent"},
}
ME = 1  # the seat that searches


class Game:
    """Games in lanes, all seats at random, and every decision of the round that runs in them."""

    def __init__(self, seed, lanes, **options):
        self.engine = fastenv.make_engine(FLAT, lanes, seats="all", **options)
        self.engine.reset_many(seeds=seed)
        self.rng = np.random.default_rng(seed)
        self.decisions = [[] for _ in range(lanes)]

    def step(self):
        """Take a decision in every lane; return its rows before and where games go on."""
        engine = self.engine
        engine.refresh()
        rows, mask = engine.get_states(), engine.mask
        actions = np.where(mask, self.rng.random(mask.shape), -1).argmax(1)
        for lane, row in enumerate(rows):
            noted = self.decisions[lane]
            if noted and noted[-1][0]["rounds_done"] != row["rounds_done"]:
                noted.clear()
            noted.append((row.copy(), int(actions[lane])))
        engine.step_many(actions, autoreset=False)
        return rows


def watched(game, record, rows):
    """Let a record see what the searching seat sees; return these lanes."""
    lanes = np.flatnonzero((rows["actor"] == ME) & (rows["done"] == 0))
    if lanes.size:
        record.watch(lanes, rows[lanes])
    return lanes


def with_hand(row, hand):
    """Return a row without hands with its actor's."""
    row = row.copy()
    row["hand"][row["actor"]], row["hand_len"][row["actor"]] = 0, len(hand)
    row["hand"][row["actor"], : len(hand)] = hand
    row["specials_known"] += sum(not 10 <= card < 66 for card in hand)
    for card in hand:
        row["known"][card // 64] |= np.uint64(1 << int(card) % 64)
    return row


def hand_of(row, seat):
    return row["hand"][seat, : row["hand_len"][seat]].tolist()


OPEN_FIELDS = (
    *("played", "known", "seen_strength", "total", "bonus", "bid_share", "error", "table_card"),
    *("table_seat", "table_mode", "table_len", "bid", "won", "bid_sum", "abs_error", "hits"),
    *("zero_bids", "last_bid", "agent", "actor", "phase", "done", "round_idx", "rounds_done"),
    *("cards", "tricks", "destroyed", "first_leader", "leader", "human_leader", "turn"),
    *("played_last", "alliances", "num_alliances", "counts", "specials_known", "stock_len", "void"),
)


@walk("table", every(8, [name for name in TABLES if name != "abilities"]))
def test_rows_before_cards_are_those_of_the_game(table):
    game = Game(7, 3, **TABLES[table])
    record = RoundRecord(game.engine)
    observers = [fastenv.make_engine(tier, 1, **seen(TABLES[table], tier)) for tier in TIERS]
    compared = 0
    while not game.engine.ended.any():
        rows = game.step()
        for lane in watched(game, record, rows):
            if is_bidding(rows[lane : lane + 1])[0]:
                continue
            one, now = np.array([lane]), rows[lane : lane + 1]
            assert record.is_complete(one, now)[0]
            past = [(r, a) for r, a in game.decisions[lane][:-1] if r["phase"] == Phase.PLAY]
            if not past:
                continue
            truth = np.stack([row for row, _ in past])
            replayed, rebuilt = record.replay(one, record.count(now))[0], truth.copy()
            for k, (row, action) in enumerate(past):
                ply = int(record.count(row[None])[0])
                hand = hand_of(row, row["actor"])
                assert record.cards[lane, ply] == hand[action]
                assert record.seats[lane, ply] == row["actor"]
                rebuilt[k] = with_hand(replayed[ply], hand)
            for name in (n for n in OPEN_FIELDS if n in truth.dtype.names):
                np.testing.assert_array_equal(rebuilt[name], truth[name], name)
            for observer in observers:
                shown = [observer.encode_obs_many(r, trusted=True) for r in (rebuilt, truth)]
                np.testing.assert_array_equal(*shown)
            compared += len(past)
    assert compared > 100


def seen(options, tier):
    """Return the options of an observer of a table."""
    return {k: v for k, v in options.items() if (k, tier) != ("obs_ext", "SkullKingManager-v0")}


# -- how likely worlds are -------------------------------------------------------------------------


def any_policy(options, spread=3.0, env=FLAT):
    """Return a policy of random preferences, which depend on all that it sees."""
    engine = fastenv.make_engine(env, 1, **options)
    size = int(np.prod(engine.obs_shape))
    weights = np.random.default_rng(1).normal(0, spread, (size, engine.num_actions))
    spec = EnvSpec(env, options, np.dtype(np.float32), engine.obs_shape, engine.num_actions)
    return Policy(None, "any", 0, lambda obs: (obs @ weights).astype(np.float32), spec)


def slow_weight(game, policy, world, me, plays, by_cards):
    """Return the logarithm of how likely a world is, decision by decision in the reference."""
    state = game.unpack(world)
    players, bids, cannon = state.rules.num_players, state.bid, state.cannon
    hands, size, stock = [list(hand) for hand in state.hand], state.cards, state.stock
    for seat, hand in enumerate(hands[: state.rules.num_hands]):
        own = [card for s, card, _ in plays if s == seat]
        if seat == state.bendt_seat:
            drawn = stock[: state.stock_pos]
            hand = [card for card in hand + state.discard if card not in drawn]
            own = [card for card in own if card not in drawn]
        hands[seat] = own + hand if seat >= players else sorted(own + hand)
    state.clear_round()
    state.hand, state.cards, state.stock, state.cannon = hands, size, stock, cannon
    state.leader = state.human_leader = state.first_leader
    state.bots[:players] = [Bot.EXTERNAL] * players
    total = 0.0
    for seat in range(players):
        if seat != me:
            state.phase, state.actor = Phase.BID, -1
            state.give_turn(seat)
            total += log_chance(game, policy, state, bids[seat])
    state.bid, state.actor, state.phase = bids, -1, -1
    state.advance()
    for seat, card, mode in plays if by_cards else ():
        if seat >= players:
            continue  # the ghost's lie there already
        assert state.actor == seat
        slot = state.hand[seat].index(card)
        if seat != me:
            total += log_chance(game, policy, state, slot)
        state.step(slot)
        if state.phase == Phase.TIGRESS:
            state.step(mode)
    return TRUST * total


def log_chance(game, policy, state, action):
    obs, mask = np.zeros(policy.obs_shape, np.float32), np.zeros(policy.num_actions, np.uint8)
    game.encode_obs(state, obs)
    game.action_mask(state, mask)
    assert mask[action]
    chance = (1 - DOUBT) * policy.probabilities(obs, mask)[action] + DOUBT / mask.sum()
    return np.log(chance)


@walk(("table", "name"), diagonal(every(2, TABLES), ["bids", "plays"]))
def test_weights_are_those_of_a_plain_loop(table, name):
    each, options = 4, TABLES[table]
    lanes = 40 if table == "abilities" else 2
    game = Game(11, lanes, **{"schedule": (2, 5), **options})
    policy = any_policy(options)
    belief = HandBelief(name, policy, game.engine)
    by_cards, compared = name == "plays" and table != "abilities", 0
    drew = False
    while not game.engine.ended.any():
        rows = game.step()
        lanes = watched(game, belief, rows)
        if not lanes.size:
            continue
        seats = np.full(len(lanes), ME)
        worlds = game.engine.resample(rows[lanes], seats, compared, worlds=each, trusted=True)
        found = belief.log_weights(worlds, seats.repeat(each), each, lanes).reshape(-1, each)
        for k, lane in enumerate(lanes):
            if is_bidding(rows[lane : lane + 1])[0]:
                assert (found[k] == 0).all()
                continue
            plays = plays_of(game.decisions[lane], rows[lane], belief._record, lane)
            slow = [
                slow_weight(game.engine.game, policy, world, ME, plays, by_cards)
                for world in worlds[k * each : (k + 1) * each]
            ]
            np.testing.assert_allclose(found[k], slow, rtol=1e-5, atol=1e-5)
            compared += each
            drew |= bool(rows["bendt_seat"][lane] >= 0)
    assert compared > 30
    assert drew == (table == "abilities")


def plays_of(decisions, now, record, lane):
    """Return seat, card and mode of each card of the round before a row."""
    found = []
    count = int(record.count(now[None])[0])
    for ply in range(count):
        seat, card = int(record.seats[lane, ply]), int(record.cards[lane, ply])
        found.append((seat, card, int(record._modes[lane, ply])))
    return found


def test_a_search_in_the_middle_knows_what_two_tricks_show():
    game = Game(3, 6, schedule=(4,))
    policy = any_policy({})
    belief = HandBelief("plays", policy, game.engine)
    told = set()
    while not game.engine.ended.any():
        rows = game.step()
        lanes = watched(game, belief, rows)
        lanes = lanes[~is_bidding(rows[lanes])]
        if not lanes.size:
            continue
        seats = np.full(len(lanes), ME)
        worlds = game.engine.resample(rows[lanes], seats, 5, worlds=3, trusted=True)
        watching = belief.log_weights(worlds, seats.repeat(3), 3, lanes)
        at_once = belief.log_weights(worlds, seats.repeat(3), 3, None)
        early = (rows["tricks"][lanes] < 2).repeat(3)
        np.testing.assert_array_equal(at_once[early], watching[early])
        assert (at_once[~early] == 0).all()
        assert (watching != 0).all()
        told |= set(rows["tricks"][lanes].tolist())
    assert told == {0, 1, 2, 3}


def test_a_policy_that_bids_anything_tells_nothing():
    game = Game(5, 2, schedule=(6,))
    belief = HandBelief("bids", any_policy({}, spread=0.0), game.engine)
    while not game.engine.ended.any():
        rows = game.step()
        lanes = watched(game, belief, rows)
        if lanes.size:
            seats = np.full(len(lanes), ME)
            worlds = game.engine.resample(rows[lanes], seats, 5, worlds=8, trusted=True)
            found = belief.log_weights(worlds, seats.repeat(8), 8, lanes).reshape(-1, 8)
            np.testing.assert_allclose(found, found[:, :1].repeat(8, 1), rtol=1e-12)


def test_weights_do_not_depend_on_what_is_hidden():
    game = Game(9, 1, schedule=(6,))
    belief, other = (HandBelief("plays", any_policy({}), game.engine) for _ in range(2))
    while not game.engine.ended.any():
        rows = game.step()
        lanes = np.flatnonzero(rows["actor"] == ME)
        if not lanes.size:
            continue
        seats = np.full(1, ME)
        elsewhere = game.engine.resample(rows, seats, 77, trusted=True)
        belief.watch(lanes, rows)
        other.watch(lanes, elsewhere)
        worlds = game.engine.resample(rows, seats, 5, worlds=8, trusted=True)
        found = [one.log_weights(worlds, seats.repeat(8), 8, lanes) for one in (belief, other)]
        np.testing.assert_array_equal(*found)


@walk("name", ["bids", "plays"])
def test_the_agent_searches_with_a_belief(name):
    from training.evaluation.contest import contest, load_players

    who = [f"search:pretrained/skullking-ppo,worlds=2,belief={name}", "heuristic"]
    found = contest(load_players(who), 4, options={"schedule": (2,)}, resamples=10)
    assert found.games == 4


def test_refuses_a_policy_of_part_of_the_game():
    engine = fastenv.make_engine(FLAT, 1, seats="all")
    bids, cards = (any_policy({}, env=env) for env in TIERS[1:3])
    HandBelief("bids", bids, engine)
    for name, policy in (("plays", bids), ("plays", cards), ("bids", cards)):
        with pytest.raises(ConfigError, match=f"search.belief='{name}'"):
            HandBelief(name, policy, engine)
