"""The flow of a reference game: order of draws, abilities as the agent sees them, rows."""

from __future__ import annotations

import pytest

from fastenv.rng import GOLDEN_GAMMA, Rng, splitmix64
from fastenv.skullking.reference import SkullKing, estimate, to_namespace, unpack
from fastenv.skullking.tables import TIGRESS, Bot, Phase
from tests.skullking import scenarios as sc


def shuffled(rng: Rng, size: int = 74) -> list[int]:
    deck = list(range(size))
    for i in range(size - 1, 0, -1):
        j = rng.bounded(i + 1)
        deck[i], deck[j] = deck[j], deck[i]
    return deck


def test_a_worker_episode_draws_in_the_specified_order():
    rules, knobs = sc.setup(
        tier="worker", num_players=4, opponents="random", scoring="rascal_cannon"
    )
    game = SkullKing(rules, knobs, seed=11)
    rng = Rng(11)
    u = rng.uniform()
    round_idx = next(r for r in range(10) if u < knobs["round_cdf"][0, r])
    leader, n = rng.bounded(4), round_idx + 1
    deck = shuffled(rng)
    goal = rng.bounded(n + 1)
    bids = [(rng.bounded(n + 1), rng.bounded(2)) for _ in range(3)]
    assert (game.round_idx, game.first_leader, game.cards) == (round_idx, leader, n)
    assert game.bid[:4] == [goal, *(bid for bid, _ in bids)]
    assert game.cannon[:4] == [0, *(cannon for _, cannon in bids)]
    assert game.stock == deck[4 * n :]
    dealt = [sorted(deck[seat * n : seat * n + n]) for seat in range(4)]
    laid = dict(zip(game.table_seat, game.table_card, strict=True))
    for seat in range(4):
        assert sorted([*game.hand[seat], *([laid[seat]] if seat in laid else [])]) == dealt[seat]


def test_graybeards_pile_is_not_sorted():
    rules, knobs = sc.setup(tier="flat", num_players=2, schedule=(10,))
    game = SkullKing(rules, knobs, seed=4)
    rng = Rng(4)
    rng.bounded(2)
    assert game.hand[2] == shuffled(rng)[20:30]


def test_duplicate_deals_do_not_depend_on_the_agents_seat():
    deals = []
    for seat in range(4):
        rules, knobs = sc.setup(tier="flat", deals="duplicate", agent_seat=seat)
        game = SkullKing(rules, knobs, seed=5)
        deals.append((game.hand, game.stock, game.first_leader))
    assert deals == [deals[0]] * 4
    rng = Rng(5)
    assert deals[0][2] == rng.bounded(4)
    assert deals[0][1] == shuffled(Rng(5 + (1 << 40)))[4:]


def test_next_episode_goes_on_with_the_stream_and_the_next_seat():
    rules, knobs = sc.setup(tier="flat", num_players=3, agent_seat="rotate", deals="duplicate")
    game = SkullKing(rules, knobs, seed=2**64 - 1)
    agents, seeds = [], []
    for _ in range(4):
        agents.append(game.agent)
        seeds.append(game.deal_seed)
        game.reset()
    assert agents == [0, 1, 2, 0]
    assert seeds[0] == 2**64 - 1
    assert seeds[1] == splitmix64((seeds[0] + GOLDEN_GAMMA) % 2**64)


@pytest.mark.parametrize(("mode", "goal"), [("fixed", 3), ("fixed", 10), ("manager", None)])
def test_goals_without_a_draw(mode, goal):
    options = {"tier": "worker", "schedule": (5,), "goal_mode": mode, "round_weights": "uniform"}
    game = SkullKing(*sc.setup(**options, goal=goal or 0), seed=3)
    assert len(game.hand[0]) == 5
    assert game.bid[0] == (estimate(game.hand[0], 5) if goal is None else min(goal, 5))


def test_the_tigress_stays_in_the_hand_until_her_mode_is_chosen():
    rules, knobs = sc.setup(tier="worker", num_players=3, tigress="agent")
    rows = sc.make_row(
        rules, knobs, agent=2, hands=[sc.cards("P3"), sc.cards("P4"), sc.cards("TG M2")],
        bids=[0, 0, 0], table=sc.plays("C2 C3"),
    )  # fmt: skip
    stepper = sc.reference_stepper(rules, knobs)
    row = sc.play(rows, [1], stepper)
    assert (row["phase"], row["hand_len"][2], row["table_len"]) == (Phase.TIGRESS, 2, 2)
    assert (row["ev_phase"], row["ev_card"], row["ev_trick"]) == (Phase.PLAY, -1, 0)
    row = sc.play(rows, [1], stepper)
    assert (row["ev_phase"], row["ev_card"], row["ev_trick"]) == (Phase.TIGRESS, TIGRESS, 1)
    assert row["won"][2] == 1


def ability_row(hand: str, pirates=("rosie", "bendt", "rascal", "jade", "harry"), **fields):
    """Seat 2 completes a trick with slot 0 of its hand and wins it."""
    rules, knobs = sc.setup(tier="ability", num_players=3, pirates=pirates)
    own = sc.cards(hand)
    pool = iter(sc.spare([*own, *sc.cards("M2 M3")]))
    hands = [[next(pool) for _ in own[1:]] for _ in range(2)] + [own]
    rows = sc.make_row(
        rules, knobs, agent=2, hands=hands, bids=[1, 1, 1], table=sc.plays("M2 M3"), **fields
    )
    return rows, sc.reference_stepper(rules, knobs)


def test_jade_shows_the_stock():
    rows, stepper = ability_row("Jade P1 C1")
    stock = set(rows[0]["stock"][: rows[0]["stock_len"]].tolist())
    row = sc.play(rows, [0], stepper)
    assert (row["jade_seat"], row["abilities_used"], row["phase"]) == (2, 1, Phase.PLAY)
    game = unpack(row, *sc.setup(tier="ability", num_players=3))
    assert game.out == stock
    assert game.known >= stock
    assert game.specials_known == sum(card < 10 or card > 65 for card in game.known)


@pytest.mark.parametrize(("stock", "phase"), [(1, Phase.BENDT_1), (0, Phase.PLAY)])
def test_bendt_draws_what_is_left(stock, phase):
    rows, stepper = ability_row("Bendt P1 C1")
    rows["stock_len"] = stock
    rows["stock"][0, stock:] = -1
    row = sc.play(rows, [0], stepper)
    assert (row["phase"], row["abilities_used"]) == (phase, 0)
    if stock:
        card = int(row["hand"][2, 2])
        row = sc.play(rows, [2], stepper)
        assert (row["phase"], row["ev_card"], row["abilities_used"]) == (Phase.PLAY, card, 1)
        assert row["discard"].tolist() == [card, -1]
        assert (row["bendt_seat"], row["stock_pos"]) == (2, 1)
        assert row["first_discard"] == -1


def test_a_pirate_that_is_not_the_agents_to_decide_follows_the_rule():
    rows, stepper = ability_row("Rascal P1 C1", pirates=("harry",))
    row = sc.play(rows, [0], stepper)
    assert row["bots"][2] == Bot.RULE_HARD
    assert (row["phase"], row["rascal_seat"], row["rascal_bet"]) == (Phase.PLAY, 2, 20)


def test_rascal_is_asked_with_the_trick_already_won():
    rows, stepper = ability_row("Rascal P1 C1")
    row = sc.play(rows, [0], stepper)
    assert (row["phase"], row["turn"], row["won"][2]) == (Phase.RASCAL, 2, 1)
    row = sc.play(rows, [2], stepper)
    assert (row["ev_needed"], row["ev_left"], row["rascal_bet"]) == (0, 2, 20)


@pytest.mark.parametrize(("bid", "legal"), [(0, [1, 2]), (1, [0, 1, 2]), (4, [0, 1])])
def test_harry_stays_within_the_possible_bids(bid, legal):
    rules, knobs, rows = sc.last_trick_row(sc.CARDS["Harry"])
    rows["bid"][0, 2] = bid
    sc.play(rows, [0], sc.reference_stepper(rules, knobs))
    assert rows[0]["phase"] == Phase.HARRY
    assert sc.legal_actions(rows, rules, knobs) == legal


def test_a_bid_is_judged_by_the_estimate_and_then_a_cannon_is_chosen():
    rules, knobs = sc.setup(tier="flat", scoring="rascal_cannon", schedule=(6,))
    game = SkullKing(rules, knobs, seed=1)
    expected = estimate(game.hand[0], 6)
    game.step(2)
    assert (game.phase, game.turn, game.ev_estimate) == (Phase.CANNON, game.leader, expected)
    game.step(1)
    assert (game.cannon[0], game.ev_phase, game.ev_needed) == (1, Phase.CANNON, 0)


def test_a_finished_game_ignores_actions():
    game = SkullKing(*sc.setup(tier="manager"), seed=1)
    game.step(0)
    assert game.done
    before = dict(vars(game))
    game.step(3)
    assert vars(game) == before


def test_records_become_plain_values():
    rules = to_namespace(sc.setup(deck="no_kraken", schedule=(3, 4))[0])
    assert rules.schedule == (3, 4)
    assert rules.deck == tuple(card for card in range(74) if card != 2)
    assert to_namespace(rules) is rules
