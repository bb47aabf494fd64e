"""Properties of the reference (docs/skullking.md, 18), by Hypothesis."""

from __future__ import annotations

import copy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastenv.rng import Rng
from fastenv.skullking import bots
from fastenv.skullking.reference import (
    DEFAULT_RULES,
    Play,
    SkullKing,
    TrickRules,
    effective_class,
    legal_cards,
    resolve_trick,
    score_round,
)
from fastenv.skullking.tables import (
    BOT_NAMES,
    CLASS,
    ESCAPES,
    KRAKEN,
    LOOTS,
    NUM_ACTIONS,
    PIRATES,
    SUIT,
    TIGRESS,
    WHALE,
    Bot,
    CardClass,
    Phase,
    Scoring,
)
from tests.skullking.scenarios import setup

PI_RULES = TrickRules(late_suit=True, trump_any_time=True, tigress_bonus=False)
CHARACTERS = (CardClass.KING, CardClass.MERMAID, CardClass.PIRATE)
BOTS = list(BOT_NAMES)
seeds = st.integers(0, 2**64 - 1)


# -- strategies ---------------------------------------------------------------------------------


def tricks(without: tuple[int, ...] = (), min_size: int = 2) -> st.SearchStrategy[list[Play]]:
    """Complete tricks of distinct cards, led by any seat."""
    deck = [card for card in range(74) if card not in without]
    ids = st.lists(st.sampled_from(deck), min_size=min_size, max_size=8, unique=True)

    def deal(ids: list[int], leader: int, mode: int) -> list[Play]:
        n = len(ids)
        return [
            Play((leader + i) % n, card, mode if card == TIGRESS else 0)
            for i, card in enumerate(ids)
        ]

    return st.builds(deal, ids, st.integers(0, 7), st.integers(0, 1))


@st.composite
def options(draw, tiers=("flat", "manager", "worker", "ability")):
    """Options of `SkullKingConfig`: all rule switches, tiers, tables of 2 to 8."""
    tier = draw(st.sampled_from(tiers))
    num_players = draw(st.integers(2, 8))
    abilities = ["off", "auto"] + ["agent"] * 3 * (tier == "ability")
    switches = {
        "deck": ["full74", "base70", "no_kraken", ("no_whale", "no_loot")],
        "schedule": ["even_keeled_2024", "skip_to_the_brawl", (1, 10, 9), (2, 3)],
        "scoring": ["skull_king", "rascal", "rascal_cannon"],
        "abilities": abilities,
        "kraken_leader": ["would_win", "left_of_kraken"],
        "whale_void_leader": ["whale_player", "would_win"],
        "late_suit": [False, True],
        "trump_any_time": [False, True],
        "tigress_bonus": [True, False],
        "two_player": ["graybeard", "plain"],
        "tigress": ["auto", "agent"],
        "mode": ["round", "game"],
        "deals": ["stream", "duplicate"],
        "goal_mode": ["uniform", "fixed", "estimate", "manager"],
        "goal": [0, 3, 10],
        "agent_seat": ["rotate", 0, num_players - 1],
        "round_weights": ["uniform"],
    }
    chosen = {name: draw(st.sampled_from(values)) for name, values in switches.items()}
    sizes = {"even_keeled_2024": 5, "skip_to_the_brawl": 5, (1, 10, 9): 3, (2, 3): 2}
    chosen["round_weights"] = [1.0] * sizes[chosen["schedule"]]
    opponents = [draw(st.sampled_from(BOTS)) for _ in range(num_players - 1)]
    return {"tier": tier, "num_players": num_players, "opponents": opponents, **chosen}


class CheckedGame(SkullKing):
    """A game that checks itself at every card, whoever plays it."""

    def check_cards(self) -> None:
        """Property 1: nothing is lost or doubled."""
        hands = [card for hand in self.hand for card in hand]
        unseen = self.stock[self.stock_pos :]
        assert set(self.table_card) <= self.played
        assert sorted([*hands, *self.played, *unseen, *self.discard]) == list(self.rules.deck)

    def lay(self, seat: int, card: int, mode: int) -> None:
        """Property 12: everybody follows the rules; Graybeard plays his top card."""
        if self.is_graybeard(seat):
            assert card == self.hand[seat][0]
        else:
            assert card in legal_cards(self.hand[seat], self.plays(), self.rules)
            asked = seat == self.agent and self.ev_phase == Phase.TIGRESS
            assert asked or mode == (card == TIGRESS and self.bid[seat] > self.won[seat])
        super().lay(seat, card, mode)
        self.check_cards()

    def finish_trick(self) -> None:
        """Property 2: one winner, or none and a beast; the winner's number of tricks grows."""
        plays, before = self.plays(), sum(self.won)
        assert sorted(play.seat for play in plays) == list(range(self.rules.num_hands))
        super().finish_trick()
        assert sum(self.won) + self.destroyed == self.tricks
        assert sum(self.won) > before or any(play.card in (KRAKEN, WHALE) for play in plays)
        self.check_cards()

    def score(self) -> None:
        """Property 2: the tricks of a round add up; bids stay possible."""
        assert sum(self.won) + self.destroyed == self.cards == self.tricks
        assert not any(self.hand)
        assert all(0 <= bid <= self.cards for bid in self.bid)
        self.check_cards()
        super().score()


def snapshot(game: SkullKing) -> dict:
    """Everything a game stores, but events and the count of invalid actions."""
    values = {k: v for k, v in vars(game).items() if not k.startswith("ev_")}
    del values["invalid_count"]
    return copy.deepcopy({**values, "rng": game.rng.state})


def decisions(chosen: dict, seed: int, episodes: int = 1):
    """Play with random legal actions; yield the game at each of the agent's decisions."""
    rules, knobs = setup(**chosen)
    game, policy = CheckedGame(rules, knobs, seed), Rng(seed ^ 1)
    for _ in range(episodes):
        while not game.done:
            game.check_cards()
            yield game
            legal = game.legal_actions()
            game.step(legal[policy.bounded(len(legal))])
            assert game.ev_invalid == 0
        assert game.phase == Phase.END
        game.reset()


# -- games --------------------------------------------------------------------------------------


@given(options(), seeds)
def test_cards_are_conserved_and_tricks_add_up(chosen, seed):
    for game in decisions(chosen, seed, episodes=2):
        assert game.legal_actions()
        assert game.turn == game.agent or game.phase in (Phase.BID, Phase.CANNON)


@given(options(), seeds)
def test_illegal_actions_change_nothing(chosen, seed):
    for game in decisions(chosen, seed):
        before, legal = snapshot(game), game.legal_actions()
        assert legal
        assert set(legal) <= set(range(NUM_ACTIONS))
        for count, action in enumerate(set(range(NUM_ACTIONS)) - set(legal), 1):
            game.step(action)
            assert (game.ev_invalid, game.invalid_count) == (1, count)
        game.invalid_count = 0
        assert snapshot(game) == before


@given(options(), seeds)
def test_every_legal_action_succeeds(chosen, seed):
    for game in decisions(chosen, seed):
        for action in game.legal_actions():
            branch = copy.deepcopy(game)
            branch.step(action)
            assert branch.ev_invalid == 0
            assert (branch.ev_phase, branch.ev_action) == (game.phase, action)


def test_the_50th_invalid_action_truncates():
    game = SkullKing(*setup(tier="worker"), seed=1)
    illegal = min(set(range(NUM_ACTIONS)) - set(game.legal_actions()))
    for count in range(1, 51):
        assert game.done == 0
        game.step(illegal)
        assert game.invalid_count == count
    assert (game.done, game.ev_invalid, game.phase) == (2, 2, Phase.PLAY)


@given(options(), seeds)
def test_bots_decide_from_their_own_information(chosen, seed):
    for game in decisions(chosen, seed):
        seat = next(s for s in range(game.rules.num_players) if s != game.agent)
        if game.phase != Phase.PLAY or not game.hand[seat]:
            continue
        other = copy.deepcopy(game)
        hide_and_shuffle(other, seat, seed)
        kind = game.bots[seat]
        views = game.view(seat), other.view(seat)
        assert views[0] == views[1]
        cards = [bots.choose_card(kind, view, Rng(seed)) for view in views]
        assert cards[0] == cards[1]
        assert cards[0] in views[0].legal


def hide_and_shuffle(game: SkullKing, seat: int, seed: int) -> None:
    """Redeal everything that a seat does not see, and change the bids of the others."""
    hidden = [s for s in range(game.rules.num_hands) if s != seat]
    pool = game.stock + [card for s in hidden for card in game.hand[s]]
    rng = Rng(seed ^ 2)
    for i in range(len(pool) - 1, 0, -1):
        j = rng.bounded(i + 1)
        pool[i], pool[j] = pool[j], pool[i]
    for s in hidden:
        game.hand[s] = [pool.pop() for _ in game.hand[s]]
        game.bid[s] = rng.bounded(game.cards + 1)
    game.stock = pool


@given(st.sampled_from(list(BOT_NAMES.values())), options(), seeds)
def test_bots_in_the_agents_seat_act_legally(kind, chosen, seed):
    game, policy = CheckedGame(*setup(**chosen), seed), Rng(seed)
    while not game.done:
        action = bots.bot_action(game, kind, policy)
        assert action in game.legal_actions()
        game.step(action)
    assert bots.bot_action(game, kind, policy) == 0


@given(options(tiers=("manager",)), seeds)
def test_bot_of_the_agent_plays_the_managers_cards_itself(chosen, seed):
    # the Manager's round is the flat one with RULE_HARD in the agent's seat, draw for draw
    plain = {"abilities": "off", "mode": "game", "tigress": "auto", "tier": "manager"}
    manager = SkullKing(*setup(**{**chosen, **plain}), seed)
    flat = SkullKing(*setup(**{**chosen, **plain, "tier": "flat"}), seed)
    while not manager.done:
        bid = manager.legal_actions()[-1]
        manager.step(bid)
        while manager.phase == Phase.CANNON:
            manager.step(1)
        flat.step(bid)
        while not flat.done and flat.phase != Phase.BID:
            cannon = flat.phase == Phase.CANNON
            flat.step(1 if cannon else bots.bot_action(flat, Bot.RULE_HARD, flat.rng))
        assert (flat.total, flat.ev_points) == (manager.total, manager.ev_points)
    assert (manager.ev_trick, manager.ev_captures) == (0, [0] * 5)


# -- tricks -------------------------------------------------------------------------------------


def position(trick: list[Play], rules: TrickRules = DEFAULT_RULES) -> int:
    """Where in the trick the winner played, -1 if nobody won."""
    winner = resolve_trick(trick, rules).winner
    return next((i for i, play in enumerate(trick) if play.seat == winner), -1)


@given(tricks(), st.permutations(range(8)))
def test_winner_moves_with_the_seats(trick, names):
    before = resolve_trick(trick)
    renamed = resolve_trick([play._replace(seat=names[play.seat]) for play in trick])
    assert renamed.winner == (names[before.winner] if before.winner >= 0 else -1)
    assert renamed.next_leader == names[before.next_leader]
    assert (renamed.bonus, renamed.captures) == (before.bonus, before.captures)
    assert renamed.alliances == [(names[a], names[b]) for a, b in before.alliances]


@given(tricks(), st.sampled_from([*ESCAPES, *LOOTS, TIGRESS]))
def test_an_escape_at_the_end_wins_nothing(trick, card):
    assume(card not in [play.card for play in trick])
    assert position([*trick, Play(99, card)]) == position(trick)


@given(tricks())
def test_destroyed_only_by_beasts(trick):
    beasts = [play.card for play in trick if play.card in (KRAKEN, WHALE)]
    result = resolve_trick(trick)
    if result.winner < 0:
        numbered = any(SUIT[play.card] >= 0 for play in trick)
        assert beasts
        assert beasts[-1] == KRAKEN or not numbered
        assert (result.bonus, result.alliances, sum(result.captures)) == (0, [], 0)
    else:
        assert result.next_leader == result.winner
        assert not beasts or beasts[-1] == WHALE


@given(tricks(without=(KRAKEN, WHALE, *LOOTS)), st.sampled_from(LOOTS))
def test_loot_in_place_of_a_losing_escape_changes_only_alliances(trick, loot):
    before = resolve_trick(trick)
    losing = [i for i, p in enumerate(trick) if p.card in ESCAPES and p.seat != before.winner]
    assume(losing)
    seat = trick[losing[0]].seat
    trick[losing[0]] = Play(seat, loot)
    assert resolve_trick(trick) == before._replace(alliances=[(seat, before.winner)])


@given(tricks(without=(TIGRESS, PIRATES[0], ESCAPES[0])), st.integers(0, 8))
def test_tigress_wins_like_what_she_is_played_as(trick, slot):
    def with_card(card: int, mode: int = 0) -> int:
        return position([*trick[:slot], Play(99, card, mode), *trick[slot:]])

    assert with_card(TIGRESS, 1) == with_card(PIRATES[0])
    assert with_card(TIGRESS, 0) == with_card(ESCAPES[0])


@given(tricks(without=(KRAKEN, WHALE)), st.permutations(range(10, 66)))
def test_with_a_character_numbers_do_not_matter(trick, numbers):
    assume(any(effective_class(play) in CHARACTERS for play in trick))
    pool = iter(numbers)
    other = [
        play._replace(card=next(pool)) if CLASS[play.card] == CardClass.NUMBER else play
        for play in trick
    ]
    assert position(other) == position(trick)


@given(tricks())
def test_pi_compat_has_the_same_winners(trick):
    ours, theirs = resolve_trick(trick), resolve_trick(trick, PI_RULES)
    assert (ours.winner, ours.alliances) == (theirs.winner, theirs.alliances)
    if ours.bonus != theirs.bonus:
        assert any(play.card == TIGRESS and play.mode for play in trick)
        assert ours.bonus > theirs.bonus


@given(tricks(), st.lists(st.sampled_from(range(74)), min_size=1, max_size=10, unique=True))
def test_pi_compat_allows_other_cards(trick, hand):
    hand = [card for card in hand if card not in [play.card for play in trick]]
    assume(hand)
    ours, theirs = (legal_cards(hand, trick, rules) for rules in (DEFAULT_RULES, PI_RULES))
    assert ours
    assert theirs
    specials = [card for card in hand if CLASS[card] != CardClass.NUMBER]
    assert set(specials) <= set(ours) & set(theirs)


# -- scores -------------------------------------------------------------------------------------

bonuses = st.integers(0, 30).map(lambda x: 10 * x)


@given(st.integers(1, 10), st.data(), bonuses, st.sampled_from(Scoring), st.booleans())
def test_exact_bids_score_positive_and_others_pay_no_bonus(n, data, bonus, scoring, cannon):
    bid, won = data.draw(st.integers(0, n)), data.draw(st.integers(0, n))
    score = score_round(bid, won, n, bonus, scoring=scoring, cannonball=cannon)
    if bid == won:
        assert score.points > 0
        return
    half = scoring == Scoring.RASCAL or (scoring == Scoring.RASCAL_CANNON and not cannon)
    without = score_round(bid, won, n, 0, scoring=scoring, cannonball=cannon)
    paid = bonus // 2 if half and abs(bid - won) == 1 else 0
    assert score.points - without.points == score.bonus == paid


@pytest.mark.parametrize("bet", [0, 10, 20])
def test_bets_are_won_only_by_exact_bids(bet):
    assert score_round(1, 1, 4, bet=bet).points == 20 + bet
    assert score_round(2, 1, 4, bet=bet).points == -10 - bet
