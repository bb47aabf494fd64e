"""Worlds: what a player cannot tell apart, all of it equally likely, and nothing else."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.rng import Rng
from fastenv.skullking import tables as t
from fastenv.skullking import worlds as twin
from fastenv.skullking.state import STATE_DTYPE
from fastenv.verify import available
from tests.by_hand import bits
from tests.needs import FASTEST, needs_core
from tests.skullking.moments import TIERS, game_of, hand, members, moments, others, stock
from tests.slow import every, late

few = settings(max_examples=4)
seeds = st.integers(0, 2**32 - 1)
SECRET = (t.Phase.BID, t.Phase.CANNON)
EVENTS = {name for name in STATE_DTYPE.names if name.startswith("ev_")}
HIDDEN = {"rng", "deal_seed", "hand", "stock", "discard", "first_discard"}


def engines(game, n=3):
    return {
        name: BatchEngine(game, n, name) for name, why in available(game).items() if why is None
    }


def fast(game, n=1):
    return BatchEngine(game, n, FASTEST)


# -- the same bits everywhere ----------------------------------------------------------------------


@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_backends_draw_the_same_worlds(tier, seed):
    game = game_of(tier, seed)
    each, rng = engines(game), np.random.default_rng(seed)
    for rows in moments(game, seed, every=15):
        agents = rng.integers(game.num_seats, size=len(rows))
        expected, *found = (
            bits(engine.resample(rows, agents, seed, worlds=2)) for engine in each.values()
        )
        assert all(worlds == expected for worlds in found)


# -- what stays ------------------------------------------------------------------------------------


def hidden_fields(row, agent):
    """Return the fields of which a world may have other values."""
    hidden = set(HIDDEN)
    if row["phase"] in SECRET:
        hidden |= {"bid", "cannon"}
    if agent != row["actor"]:
        hidden |= {"known", "out", "specials_known"}
    if agent != row["agent"]:
        hidden |= EVENTS
    return hidden


def check_what_stays(row, world, agent):
    for field in set(STATE_DTYPE.names) - hidden_fields(row, agent):
        assert world[field].tobytes() == row[field].tobytes(), field
    for field in ("hand", "bid", "cannon"):
        assert world[field][agent].tobytes() == row[field][agent].tobytes()
    assert ((world["bid"] < 0) == (row["bid"] < 0)).all()
    if agent == row["bendt_seat"]:
        assert (world["discard"] == row["discard"]).all()
        assert (world["stock"][: row["stock_pos"]] == row["stock"][: row["stock_pos"]]).all()
    if agent == row["jade_seat"]:
        seen = slice(row["jade_pos"], row["stock_len"])
        assert sorted(world["stock"][seen]) == sorted(row["stock"][seen])


@needs_core
@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_a_world_looks_the_same_to_its_agent(tier, seed):
    game = game_of(tier, seed)
    engine = fast(game)
    for rows in moments(game, seed, n=2, every=12):
        for agent in range(game.num_seats):
            drawn = engine.resample(rows, agent, seed)
            game.validate(drawn)
            for row, world in zip(rows, drawn, strict=True):
                check_what_stays(row, world, agent)
            own = rows["actor"] == agent
            for show in (engine.encode_obs_many, engine.action_masks_many):
                assert show(drawn[own]).tobytes() == show(rows[own]).tobytes()
            for i in np.flatnonzero(own & (rows["agent"] == agent)):
                shown, again = (game.info(game.unpack(row[i])) for row in (rows, drawn))
                assert again == shown


@needs_core
@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_nobody_holds_what_he_has_shown_not_to_hold(tier, seed):
    game = game_of(tier, seed)
    for rows in moments(game, seed):
        for world in fast(game).resample(rows, 0, seed, worlds=3):
            for seat in range(game.num_seats):
                suits = {t.SUIT[card] for card in hand(world, seat)} - {-1}
                assert not any(world["voids"][seat] >> suit & 1 for suit in suits)


# -- nothing leaks ---------------------------------------------------------------------------------


def alike(engine, row, agent, rng):
    """Return a row with other hidden cards, orders, bids and streams, that looks the same."""
    rules = engine.game.rules[0]
    row = engine.resample(row.reshape(1), agent, int(rng.integers(2**40)))[0]
    cards = stock(row)
    row["stock"][row["stock_pos"] : row["stock_len"]] = rng.permutation(cards)
    if row["discard"][1] >= 0 and agent != row["bendt_seat"]:
        row["discard"] = row["discard"][::-1].copy()
    if rules["num_hands"] > rules["num_players"]:
        row["hand"][2, : row["hand_len"][2]] = rng.permutation(hand(row, 2))
    for seat in range(rules["num_players"]):
        if seat != agent and row["phase"] in SECRET and row["bid"][seat] >= 0:
            row["bid"][seat] = rng.integers(row["cards"] + 1)
        if seat != agent and row["phase"] in SECRET and rules["scoring"] == t.Scoring.RASCAL_CANNON:
            row["cannon"][seat] = rng.integers(2)
    row["rng"] = rng.integers(1, 2**63, size=4)
    row["deal_seed"] = rng.integers(2**63)
    return row


@needs_core
@pytest.mark.parametrize("tier", every(4, TIERS))
@few
@given(seed=seeds)
def test_what_is_hidden_changes_nothing(tier, seed):
    """Rows that look the same to an agent have the same worlds, to the bit."""
    game, rng = game_of(tier, seed), np.random.default_rng(seed)
    engine = fast(game)
    for rows in moments(game, seed, n=2, every=9):
        for agent in range(game.num_seats):
            same = np.array([alike(engine, row, agent, rng) for row in rows])
            found = engine.resample(same, agent, seed, trusted=True)
            assert bits(found) == bits(engine.resample(rows, agent, seed))


def bidding(**options):
    """Return an engine, and rows of games in which secret bids are on the table."""
    options |= {"num_players": 4, "invalid_action": "raise", "opponents": "heuristic"}
    engine = fastenv.make_engine("SkullKingFlat-v0", 16, backend=FASTEST, **options)
    engine.reset_many(seeds=4)
    return engine, engine.get_states()


def test_secret_bids_are_not_known():
    engine, rows = bidding(schedule=(7,), scoring="rascal_cannon")
    others = rows.copy()
    others["bid"][:, 1:4], others["cannon"][:, 1:4] = 7 - rows["bid"][:, 1:4], 1
    worlds = engine.resample(rows, 0, 3)
    assert engine.resample(others, 0, 3).tobytes() == worlds.tobytes()
    assert len(np.unique(worlds["bid"][:, 1:4], axis=0)) > 8
    assert set(worlds["cannon"][:, 1:4].flat) == {0, 1}
    loading = rows.copy()  # the bids are open only when the cannons are loaded
    loading["phase"], loading["bid"][:, 0] = t.Phase.CANNON, 2
    others["phase"], others["bid"][:, 0] = t.Phase.CANNON, 2
    worlds = engine.resample(loading, 0, 3)
    assert engine.resample(others, 0, 3).tobytes() == worlds.tobytes()
    assert (worlds["bid"][:, 0] == 2).all()


def test_the_seed_of_later_deals_is_not_known():
    engine, rows = bidding(deals="duplicate")
    others = rows.copy()
    others["deal_seed"] += np.uint64(1)
    worlds = engine.resample(rows, 0, 3)
    assert engine.resample(others, 0, 3).tobytes() == worlds.tobytes()
    assert len({*worlds["deal_seed"].tolist(), *rows["deal_seed"].tolist()}) == 2 * len(rows)
    engine, rows = bidding()
    assert not engine.resample(rows, 0, 3)["deal_seed"].any()


def test_who_sits_there_is_not_known():
    engine, rows = bidding(schedule=(7,), scoring="rascal_cannon")
    others = rows.copy()
    others["bots"][:, 1:4] = t.Bot.RULE_EASY
    worlds, again = (engine.resample(each, 0, 3) for each in (rows, others))
    again["bots"] = worlds["bots"]
    assert again.tobytes() == worlds.tobytes()


# -- all worlds are equally likely -----------------------------------------------------------------


def asks_for_tigress(row, agent):
    """Return whether a seat is asked how it plays her, so that all know who has her."""
    return row["phase"] == t.Phase.TIGRESS and agent != row["actor"]


def places_of(row, rules, agent):
    """Return size and possible cards of each place with unseen cards, by the words of the docs."""
    deck = {int(card) for card in rules["deck"][: rules["deck_len"]]}
    unseen = deck - members(row["played"]) - {*hand(row, agent)}
    drawing = row["phase"] in (t.Phase.BENDT_1, t.Phase.BENDT_2) and agent != row["actor"]
    drawn, drew = int(row["stock_pos"]), int(row["bendt_seat"])
    discards = [card for card in row["discard"].tolist() if card >= 0]
    if agent == drew:
        unseen -= {*discards}
    if asks_for_tigress(row, agent):
        unseen.remove(t.TIGRESS)
    looked = agent == row["jade_seat"]
    shown = {*row["stock"][row["jade_pos"] : row["stock_len"]].tolist()} if looked else set()
    gone = looked and row["jade_pos"] == 0 and drawn and agent != drew  # some of these were drawn
    places = []
    for seat in others(row, rules, agent):
        size = int(row["hand_len"][seat])
        may = {card for card in unseen if not (row["voids"][seat] >> max(0, t.SUIT[card]) & 1)}
        may |= {card for card in unseen if t.SUIT[card] < 0}
        if not (gone and seat == drew and not drawing):
            may -= shown
        if drawing and seat == drew:
            size -= drawn
        if asks_for_tigress(row, agent) and seat == row["actor"]:
            size -= 1
        places.append((size, may))
    if drawing:
        places.append((drawn, unseen & shown if looked else unseen))
    elif discards and agent != drew:
        places.append((drawn, unseen if gone else unseen - shown))
    places.append((len(stock(row)), unseen & shown if looked else unseen))
    return unseen, places


def all_worlds(unseen, places):
    """Yield every assignment: a tuple of ascending cards for each place."""
    if not places:
        yield ()
        return
    size, may = places[0]
    for chosen in itertools.combinations(sorted(unseen & may), size):
        for rest in all_worlds(unseen - {*chosen}, places[1:]):
            yield (chosen, *rest)


def number_without_rules(unseen, places):
    """Return how many assignments there were if all cards fitted everywhere."""
    return math.factorial(len(unseen)) // math.prod(math.factorial(size) for size, _ in places)


def keys_of(worlds, rules, agent):
    """Return the assignments in worlds of a row as bytes, the cards of each place ascending."""
    row = worlds[0]
    drawing = row["phase"] in (t.Phase.BENDT_1, t.Phase.BENDT_2) and agent != row["actor"]
    drawn = int(row["stock_pos"])
    columns = []
    for seat in others(row, rules, agent):
        drew = drawing and seat == row["bendt_seat"]
        columns.append(worlds["hand"][:, seat, : row["hand_len"][seat] - drawn * drew])
    if drawing:
        columns.append(worlds["stock"][:, :drawn])
    elif row["discard"][0] >= 0 and agent != row["bendt_seat"]:
        columns.append(worlds["discard"][:, :drawn])
    columns.append(worlds["stock"][:, drawn : row["stock_len"]])
    keys = np.concatenate([np.sort(cards, axis=1) for cards in columns], axis=1)
    return [key.tobytes() for key in keys]


def key_of(world, row, rules, agent):
    """Return a tuple of `all_worlds` as such a key."""
    cards = [[*place] for place in world]
    if asks_for_tigress(row, agent):
        place = others(row, rules, agent).index(row["actor"])
        cards[place] = sorted([*cards[place], t.TIGRESS])
    return bytes(itertools.chain(*cards))


def surprise(counts, expected):
    """Return how many standard deviations chi-square is above its mean (Wilson and Hilferty)."""
    freedom = len(expected) - 1
    chi2 = sum((counts.get(key, 0) - n) ** 2 / n for key, n in expected.items())
    if freedom == 0:
        return 0.0
    return ((chi2 / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))


def check_uniform(engine, row, agent, each=30):
    """Draw worlds of a row, `each` times as many as there are; return how many there are."""
    rules = engine.game.rules[0]
    unseen, places = places_of(row, rules, agent)
    found = [key_of(world, row, rules, agent) for world in all_worlds(unseen, places)]
    worlds = engine.resample(row.reshape(1), agent, 11, worlds=each * len(found), trusted=True)
    counts = Counter(keys_of(worlds, rules, agent))
    assert counts.keys() <= {*found}
    assert surprise(counts, dict.fromkeys(found, each)) < 3.7  # by chance once in 10,000
    return len(found)


@needs_core
@pytest.mark.parametrize(("players", "cards", "options"), [
    (3, 1, {}),
    (2, 1, {"two_player": "graybeard"}),
    (2, 2, {"two_player": "plain", "deck": "base70"}),
])  # fmt: skip
def test_first_rounds_are_uniform(players, cards, options):
    options |= {"num_players": players, "schedule": (cards,)}
    engine = fastenv.make_engine("SkullKingFlat-v0", 1, backend=FASTEST, **options)
    engine.reset_many(seeds=8)
    number = check_uniform(engine, engine.get_states()[0], 0, each=12)
    unseen = (70 if "deck" in options else 74) - cards
    assert number == math.perm(unseen, 2) / (1 if players == 3 or cards == 1 else 2)


@needs_core
def test_orders_are_uniform():
    """Of the stock, and of Graybeard's pile, which he plays from the top."""
    engine = fastenv.make_engine(
        "SkullKingFlat-v0", 1, backend=FASTEST, num_players=2, schedule=(4,)
    )
    engine.reset_many(seeds=8)
    worlds = engine.resample(engine.get_states(), 0, 2, worlds=70 * 400)
    for cards in (worlds["hand"][:, 2, 0], worlds["hand"][:, 2, 3], worlds["stock"][:, 5]):
        counts = dict(zip(*np.unique(cards, return_counts=True), strict=True))
        assert len(counts) == 70
        assert surprise(counts, dict.fromkeys(counts, 400)) < 3.7


# -- at the end of a round, with all that was shown ------------------------------------------------


def kind_of(row, agent):
    """Return what there is to know about hidden cards."""
    drawing = row["phase"] in (t.Phase.BENDT_1, t.Phase.BENDT_2) and agent != row["actor"]
    looked = agent == row["jade_seat"]
    gone = looked and row["stock_pos"] and row["jade_pos"] == 0 and agent != row["bendt_seat"]
    return (
        "jade" if looked else "",
        "drawn since" if gone else "",
        "drawing" if drawing else "discarded" if row["bendt_seat"] not in (-1, agent) else "",
        "tigress" if asks_for_tigress(row, agent) else "",
    )


def late_rows(deck, seed, limit, each):
    """Return an engine, and rows with an agent and few worlds, some of each kind."""
    options = {"num_players": 7, "deck": deck, "schedule": (10,), "abilities": "agent"}
    options |= {"opponents": "external", "invalid_action": "raise", "tigress": "agent"}
    engine = fastenv.make_engine("SkullKingFlat-v0", 128, backend=FASTEST, **options)
    engine.reset_many(seeds=seed)
    rules, rng, found = engine.game.rules[0], np.random.default_rng(seed), {}
    for _ in range(95):
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        rows = engine.get_states()
        late = (rows["tricks"] >= 8) & (rows["hand_len"].sum(axis=1) < 12) & (rows["done"] == 0)
        for row, agent in itertools.product(rows[late], range(7)):
            kind = kind_of(row, agent)
            if "drawing" not in kind and len(found.setdefault(kind, [])) < each:
                unseen, places = places_of(row, rules, agent)
                bound = any(size and unseen - may for size, may in places)
                few = number_without_rules(unseen, places) < 200 * limit
                some = itertools.islice(all_worlds(unseen, places), limit + 1 if few else 0)
                if bound and 5 < len(list(some)) <= limit:
                    found[kind].append((row.copy(), agent))
    return engine, found


KINDS = {
    ("", "", "", ""),
    ("", "", "discarded", ""),
    ("jade", "", "", ""),
    ("jade", "", "discarded", ""),
    ("jade", "drawn since", "discarded", ""),
    ("", "", "", "tigress"),
}


@needs_core
@pytest.mark.parametrize("deck", [*late("full74"), "base70"])
def test_last_tricks_are_uniform(deck):
    engine, found = late_rows(deck, seed=5, limit=1000, each=2)
    kinds = {kind for kind, rows in found.items() if rows}
    assert kinds >= (KINDS if deck == "full74" else {("", "", "", "")})
    for rows in found.values():
        for row, agent in rows:
            check_uniform(engine, row, agent)


# -- where hardly any is left ----------------------------------------------------------------------


def without_choice(seed):
    """Return a game and a row in which all have shown all suits that they lack, for an agent.

    No special card and no stock is left that fits everywhere: of places filled one after the other
    hardly any order comes to an end.
    """
    options = {"num_players": 7, "deck": "base70", "schedule": (10,), "opponents": "external"}
    engine = fastenv.make_engine(
        "SkullKingFlat-v0", 1, backend=FASTEST, invalid_action="raise", **options
    )
    engine.reset_many(seeds=seed)
    rng, row = np.random.default_rng(seed), engine.get_states()[0]
    while row["tricks"] < 3 or row["table_len"]:
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        row = engine.get_states()[0]
    state = engine.game.unpack(row)
    numbers = rng.permutation([card for card in state.rules.deck if t.SUIT[card] >= 0]).tolist()
    hidden = sorted(numbers[:42], key=lambda card: t.SUIT[card] + rng.normal(0, 0.6))
    state.hand[state.actor] = sorted(numbers[42:49])
    state.voids[state.actor] = 0
    for k, seat in enumerate(seat for seat in range(7) if seat != state.actor):
        state.hand[seat] = sorted(hidden[7 * k : 7 * k + 7])
        suits = {t.SUIT[card] for card in state.hand[seat]}
        state.voids[seat] = sum(1 << suit for suit in range(4) if suit not in suits)
    state.played = {*state.rules.deck}.difference(*state.hand)
    classes = [t.CLASS[card] for card in state.played]
    named = (t.CardClass.PIRATE, t.CardClass.KING, t.CardClass.MERMAID, t.CardClass.ESCAPE)
    high = [card for card in state.played if t.NUMBER[card] >= 10 and t.SUIT[card] != t.TRUMP]
    state.counts = [*map(classes.count, named), len(high)]
    state.seen_strength = sum(t.STRENGTH[card] for card in state.played)
    state.look_again()
    row = np.frombuffer(engine.game.pack(state), STATE_DTYPE)
    engine.game.validate(row)
    return engine.game, row


@needs_core
def test_where_hardly_any_world_is_left_one_is_found():
    found = 0
    for seed in range(6):
        game, row = without_choice(seed)
        agent, rng = int(row["actor"][0]), Rng(1)
        game.validate(fast(game).resample(row, agent, 3, worlds=50))
        each = [engine.resample(row, agent, 3).tobytes() for engine in engines(game).values()]
        assert all(world == each[0] for world in each)
        state = game.unpack(row[0])
        unseen = twin.unseen_cards(state, agent)
        bound = [p for p in twin.places_of(state, agent, unseen) if p.fits != unseen]
        bound.sort(key=lambda place: len(place.fits) - place.size)
        choice = twin.most_choice(bound)
        tries = (twin.propose(unseen, bound, choice, rng)[1] for _ in range(400))
        found += sum(tries) < 0.01
    assert found  # else nothing of this was tested


@pytest.mark.slow
def test_a_world_that_is_found_is_nearly_any(monkeypatch):
    """As likely as the others within a tenth, where they can be counted."""
    unseen = {*range(10, 15), *range(24, 29)}
    trumps, parrots = {*range(10, 15)}, {*range(24, 29)}
    places = [twin.Place(0, 2, parrots), twin.Place(1, 3, unseen), twin.Place(2, 2, trumps)]
    places.append(twin.Place(twin.STOCK, 3, unseen))
    monkeypatch.setattr(twin, "MAX_REJECTIONS", 0)
    rng, counts, draws = Rng(4), Counter(), 1500
    for _ in range(draws):
        dealt = twin.deal(unseen, places, rng)
        counts[tuple(sorted(dealt[0])), tuple(sorted(dealt[2]))] += 1
    assert len(counts) == 100
    assert surprise(counts, dict.fromkeys(counts, draws / 100)) < 3.7


def drawing_row(looked):
    """Return an engine, and a row with an agent, in which another is to discard what he drew."""
    options = {"num_players": 4, "schedule": (10,), "abilities": "agent", "opponents": "external"}
    options["invalid_action"] = "raise"
    engine = fastenv.make_engine("SkullKingFlat-v0", 256, backend=FASTEST, **options)
    engine.reset_many(seeds=1)
    rng = np.random.default_rng(1)
    while True:
        engine.step_many(fastenv.sample_legal(engine.mask, rng))
        rows = engine.get_states()
        drawing = rows["phase"] == t.Phase.BENDT_2
        for row in rows[drawing & (looked | ~rows["voids"].any(axis=1))]:
            agent = int(row["jade_seat"]) if looked else (int(row["actor"]) + 1) % 4
            if agent not in (-1, row["actor"]) and (agent == row["jade_seat"]) == looked:
                return engine, row, agent


@needs_core
@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.slow
def test_cards_drawn_just_now_are_uniform(looked):
    """Of all that are unseen; where Jade showed the stock before, they are two of it."""
    engine, row, agent = drawing_row(looked)
    unseen, places = places_of(row, engine.game.rules[0], agent)
    cards = {*row["stock"][: row["stock_len"]].tolist()} if looked else unseen
    assert places[-2] == (2, cards)
    pairs = list(itertools.combinations(sorted(cards), 2))
    worlds = engine.resample(row.reshape(1), agent, 5, worlds=30 * len(pairs), trusted=True)
    engine.game.validate(worlds)
    counts = Counter(map(tuple, np.sort(worlds["stock"][:, :2], axis=1).tolist()))
    assert surprise(counts, dict.fromkeys(pairs, 30)) < 3.7
    slots, held = Counter(worlds["first_discard"].tolist()), int(row["hand_len"][row["actor"]])
    assert surprise(slots, dict.fromkeys(range(held), len(worlds) / held)) < 3.7
