"""The observation's blocks, and the constants the kernels repeat."""

import itertools

import pytest

from fastenv.skullking import layout as lay
from fastenv.skullking.encoding import BLOCKS
from fastenv.skullking.tables import (
    CLASS,
    ESCAPES,
    HARRY,
    JADE,
    KING,
    KRAKEN,
    LOOTS,
    MERMAIDS,
    NUM_ACTIONS,
    NUM_CARDS,
    NUMBER,
    PIRATES,
    RASCAL,
    ROSIE,
    SUIT,
    TIGRESS,
    TIGRESS_AS_ESCAPE,
    TIGRESS_AS_PIRATE,
    TRUMP,
    WHALE,
    CardClass,
    Phase,
    Tier,
)
from tests.tables import walk

# First index of each block for up to four players (docs/skullking.md, 10.3 to 10.6).
SPEC = {
    Tier.FLAT: (
        ("phase", 0),
        ("hand", 4),
        ("table", 94),
        ("status", 130),
        ("opponents", 138),
        ("hand_counts", 147),
        ("position", 151),
        ("opponent_history", 155),
        ("played_counts", 161),
        ("progress", 166),
        ("pressure", 167),
        ("played_last", 168),
        ("strength", 169),
        ("round", 171),
        ("goal", 181),
        ("loot", 182),
        ("allied", 184),
        ("allies", 188),
    ),
    Tier.MANAGER: (
        ("hand", 0),
        ("deal", 90),
        ("hand_classes", 92),
        ("hand_strength", 99),
        ("trumps", 102),
        ("suits", 106),
        ("history", 110),
        ("deal_context", 114),
        ("abilities", 118),
        ("opponents", 128),
        ("round", 152),
        ("stage", 162),
        ("loot", 165),
        ("opponents_hit_rate", 167),
        ("cannon", 168),
    ),
    Tier.WORKER: (
        ("hand", 0),
        ("table", 90),
        ("status", 126),
        ("needed_flags", 130),
        ("urgency", 133),
        ("goal", 134),
        ("must_win_all", 145),
        ("pirates", 146),
        ("ability_state", 152),
        ("ability_value", 158),
        ("specials_unseen", 162),
        ("pirate_chance", 163),
        ("progress", 164),
        ("position", 167),
        ("opponents", 171),
        ("lead_suit", 183),
        ("round", 184),
        ("stage", 194),
        ("loot", 197),
        ("alliances", 199),
        ("allies", 200),
        ("tigress_pending", 202),
    ),
}
SPEC[Tier.ABILITY] = (
    *SPEC[Tier.WORKER],
    ("decision", 203),
    ("rosie", 209),
    ("bendt_cards", 215),
    ("bendt", 233),
    ("rascal", 235),
    ("harry", 237),
    ("tigress", 241),
    ("hidden_specials", 242),
)


@pytest.mark.parametrize(
    ("tier", "dim"),
    [(Tier.FLAT, 190), (Tier.MANAGER, 171), (Tier.WORKER, 203), (Tier.ABILITY, 243)],
)
def test_up_to_four_players_have_the_sizes_of_the_spec(tier, dim):
    for players in (2, 3, 4):
        assert lay.obs_dim(tier, players) == dim
        assert lay.obs_dim(tier, players, memory=True) == dim + 3 * 74


@pytest.mark.parametrize("tier", Tier)
def test_blocks_begin_where_the_spec_says(tier):
    assert tuple((block.name, block.offset) for block in lay.layout(tier)) == SPEC[tier]


@walk(
    ("tier", "players", "dim"),
    [
        (Tier.FLAT, 5, 190 + 9 + 3 + 1 + 2 + 1),
        (Tier.FLAT, 8, 190 + 4 * (9 + 3 + 1 + 2 + 1)),
        (Tier.MANAGER, 5, 171 + 8),
        (Tier.MANAGER, 8, 171 + 4 * 8),
        (Tier.WORKER, 5, 203 + 9 + 1 + 4),
        (Tier.WORKER, 8, 203 + 4 * (9 + 1 + 4)),
        (Tier.ABILITY, 6, 243 + 2 * (9 + 1 + 4)),
        (Tier.ABILITY, 8, 243 + 4 * (9 + 1 + 4) + 2),
    ],
)
def test_larger_tables_have_a_slot_for_everybody(tier, players, dim):
    assert lay.obs_dim(tier, players) == dim


@walk("players", range(2, 9))
def test_the_flat_tier_shows_decisions_about_abilities_as_the_ability_tier_does(players):
    flat = lay.layout(Tier.FLAT, players, decisions=True)
    ability = lay.layout(Tier.ABILITY, players)
    first = next(k for k, block in enumerate(ability) if block.name == "decision")
    meanings = {block.name: block.meaning for block in ability}
    added = flat[len(lay.layout(Tier.FLAT, players)) :]
    assert [b.name for b in added] == ["ability_state", *(b.name for b in ability[first:])]
    assert all(block.meaning == meanings[block.name] for block in added)
    assert lay.layout(Tier.ABILITY, players, decisions=True) == ability


@walk("tier", Tier)
@walk("players", range(2, 9))
def test_blocks_lie_end_to_end_and_each_has_a_function(tier, players):
    blocks = lay.layout(tier, players, memory=True, decisions=True)
    assert blocks[0].offset == 0
    for block, following in itertools.pairwise(blocks):
        assert block.stop == following.offset
    names = [block.name for block in blocks]
    assert len(set(names)) == len(names)
    assert names == list(BLOCKS[tier])


@pytest.mark.parametrize("tier", Tier)
def test_the_table_for_the_docs_covers_every_index(tier):
    lines = lay.layout_table(tier).splitlines()
    assert lines[:2] == ["| index | block | content |", "|---|---|---|"]
    indices = []
    for line in lines[2:]:
        cells = line.split(" | ")
        assert len(cells) == 3, f"a meaning must not contain a column separator: {line}"
        first, _, last = cells[0].removeprefix("| ").partition("..")
        indices += range(int(first), int(last or first) + 1)
    assert indices == list(range(lay.obs_dim(tier)))


def test_kernels_repeat_the_constants_of_the_tables():
    from fastenv.skullking import kernels as k

    for member in (*Phase, *Tier):
        assert getattr(k, member.name) == member
    assert (k.NUM_CARDS, k.NUM_ACTIONS, k.TIGRESS_CARD) == (NUM_CARDS, NUM_ACTIONS, TIGRESS)
    assert k.HAND_SLOTS == lay.HAND_SLOTS
    assert len(lay.REWARD_COLUMNS) == k.NUM_REWARDS
    assert len(lay.INFO_COLUMNS) == k.NUM_INFO
    assert max(lay.obs_dim(tier, 8, memory=True, decisions=True) for tier in Tier) <= k.MAX_OBS


def _counts(card):
    """Return the fields of kernels.PACKED that a card counts in."""
    from fastenv.skullking import kernels as k

    fields = {
        k.AT_PIRATE: card in PIRATES,
        k.AT_MERMAID: card in MERMAIDS,
        k.AT_KING: card == KING,
        k.AT_ESCAPE: card in ESCAPES,
        k.AT_LOOT: card in LOOTS,
        k.AT_TIGRESS: card == TIGRESS,
        k.AT_KRAKEN: card == KRAKEN,
        k.AT_WHALE: card == WHALE,
        k.AT_ROSIE: card == ROSIE,
        k.AT_BENDT: card == ROSIE + 1,
        k.AT_RASCAL: card == RASCAL,
        k.AT_JADE: card == JADE,
        k.AT_HARRY: card == HARRY,
        k.AT_HIGH: SUIT[card] in (0, 1, 2) and NUMBER[card] >= 10,
    }
    if SUIT[card] >= 0:
        fields[k.AT_SUIT + 4 * SUIT[card]] = True
    return fields


def test_kernels_count_cards_as_the_tables_classify_them():
    from fastenv.skullking import kernels as k

    for card in range(NUM_CARDS):
        packed = sum(1 << at for at, member in _counts(card).items() if member)
        assert int(k.PACKED[card]) == packed, card
    assert not k.PACKED[NUM_CARDS:].any()  # the Tigress on the table is in no hand


def test_kernels_know_what_each_card_does_to_the_suit():
    from fastenv.skullking import kernels as k

    for card in range(NUM_CARDS):
        expected = SUIT[card] if SUIT[card] >= 0 else k.FREE
        if CLASS[card] in (CardClass.ESCAPE, CardClass.LOOT):
            expected = k.OPEN
        if card != TIGRESS:  # on the table she is one of the next two
            assert k.LEAD[card] == expected, card
    assert (k.LEAD[TIGRESS_AS_ESCAPE], k.LEAD[TIGRESS_AS_PIRATE]) == (k.OPEN, k.FREE)
    assert list(k.LEAD[10:24]) == [TRUMP] * 14
