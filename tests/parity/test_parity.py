"""The four backends beside each other, every bit of every buffer after every step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.skullking import tables as t
from fastenv.verify import Case, available, draw_options, first_difference
from tests.slow import diagonal, every, late
from tests.tables import walk

pytestmark = pytest.mark.parity

TIERS = ("flat", "manager", "worker", "ability")
RUNNABLE = [n for n, why in available(fastenv.make_game("SkullKingFlat-v0")).items() if why is None]
ENGINES = {name: (name, 1) for name in RUNNABLE}
if "fast" in ENGINES:
    ENGINES |= {"2 threads": ("fast", 2), "3 threads": ("fast", 3)}


def id_of(tier):
    return f"SkullKing{tier.title()}-v0"


def run(tier, options, seed, *, num_envs=3, steps=20, engines=ENGINES, **events):
    engines = {n: (name, threads) for n, (name, threads) in engines.items() if threads <= num_envs}
    case = Case(fastenv.make_game(id_of(tier), **options), seed, num_envs, engines, options)
    difference = case.check()
    for _ in range(steps):
        assert difference is None, f"\n{difference}"
        difference = case.advance(**events)
    assert difference is None, f"\n{difference}"


@walk(("tier", "players"), diagonal(TIERS, every(3, range(2, t.MAX_PLAYERS + 1))))
def test_every_tier_and_number_of_players(tier, players):
    seed = 100 * players + TIERS.index(tier)
    run(tier, draw_options(id_of(tier), seed, num_players=players), seed)


SWITCHES = {
    "deck": [*t.DECKS, ("no_kraken", "no_whale"), ("no_whale", "no_loot")],
    "schedule": [*t.SCHEDULES, (10, 1), (3,) * 20],
    "scoring": [s.name.lower() for s in t.Scoring],
    "abilities": ["off", "auto"],
    "kraken_leader": ["would_win", "left_of_kraken"],
    "whale_void_leader": ["whale_player", "would_win"],
    "late_suit": [True],
    "trump_any_time": [True],
    "tigress_bonus": [False],
    "two_player": ["graybeard", "plain"],
    "tigress": ["auto", "agent"],
    "preset": ["pi_compat"],
    "opponents": [*t.BOT_NAMES, "mixed"],
    "agent_seat": [1, "rotate"],
    "reward": [r.name.lower() for r in t.Reward],
    "invalid_action": ["penalty", "raise"],
    "obs_ext": ["memory"],
    "deals": ["duplicate"],
    "mode": ["game"],
    "round_weights": ["linear", "uniform"],
    "allowed_phases": [("early",), ("mid", "late")],
    "goal_mode": [g.name.lower() for g in t.GoalMode],
    "needed_after": [True],
    "rosie_shaping": [True],
    "enable_abilities": [False],
    "pirates": [(), ("bendt",), ("rosie", "harry")],
}


@walk("steps", [6, *late(30)])
@walk("switch", SWITCHES)
def test_every_value_of_every_switch(switch, steps):
    """Against the fused path alone, which leaves time for more steps; if they are many, twice."""
    engines = {name: (name, 1) for name in (RUNNABLE[0], RUNNABLE[-1])}
    for k, value in enumerate(SWITCHES[switch]):
        options = {"num_players": 2 if switch == "two_player" else 3 + k % 3, switch: value}
        possible = [tier for tier in TIERS if _allowed(tier, options)]
        for tier in {possible[k % len(possible)], *(possible[-1:] if steps > 6 else ())}:
            run(tier, options, k, num_envs=2, steps=steps, engines=engines)


def _allowed(tier, options):
    try:
        fastenv.make_game(id_of(tier), **options)
    except fastenv.ConfigError:
        return False
    return True


@st.composite
def options_of(draw, tier):
    """Draw any options, rule switches one by one, so that a failure shrinks to the few it needs."""
    options = {"num_players": draw(st.integers(2, t.MAX_PLAYERS))}
    for switch, values in SWITCHES.items():
        if switch not in ("preset", "allowed_phases"):
            value = draw(st.sampled_from([None, *values]))
            if value is not None:
                options[switch] = value
    if not _allowed(tier, options):  # a seat that is not there, an empty schedule
        options.pop("agent_seat", None)
    return options


@pytest.mark.parametrize("tier", every(4, TIERS))
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=5)
def test_any_configuration(tier, data, seed):
    run(tier, data.draw(options_of(tier)), seed, num_envs=2, steps=12)


@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_many_configurations(tier, data, seed):
    run(tier, data.draw(options_of(tier)), seed, num_envs=2, steps=12)


@pytest.mark.parametrize("tier", every(2, TIERS))
def test_illegal_actions_up_to_truncation(tier):
    run(tier, {}, 5, num_envs=2, steps=130, illegal=1.0, events=0.0,
        engines={n: ENGINES[n] for n in (RUNNABLE[0], RUNNABLE[-1])})  # fmt: skip


def test_a_difference_is_found_and_told():
    """The detector itself: one flipped bit in one lane."""
    case = Case(
        fastenv.make_game(id_of("worker")), 3, 3, {"a": ("reference", 1), "b": (RUNNABLE[-1], 1)}
    )
    assert case.advance(events=0.0) is None
    engine = case.engines["b"]
    engine.obs[1, 17] = np.float32(0.5) + engine.obs[1, 17]
    field, lane, values = first_difference(case.standard, engine)
    assert (field, lane) == ("obs[17]", 1)
    assert values[0] != values[1]
    text = str(case.check())
    for part in ("lane 1", "step 1", "seed of the case: 3", "obs[17]", "reset with 3"):
        assert part in text


# -- batches -----------------------------------------------------------------------------------


@walk("kind", list(t.BOT_NAMES))
def test_scripted_players_agree(kind):
    from fastenv.engine import rng_streams

    for tier in ("ability", "flat"):
        engines = [
            fastenv.make_engine(id_of(tier), 3, backend=name, tigress="agent", num_players=5)
            for name in (RUNNABLE[0], RUNNABLE[-1])
        ]
        streams = [rng_streams(4, 3) for _ in engines]
        for engine in engines:
            engine.reset_many(seeds=9)
        for _ in range(25):
            a, b = (e.bot_actions(kind, s) for e, s in zip(engines, streams, strict=True))
            assert a.tolist() == b.tolist()
            assert streams[0].tolist() == streams[1].tolist()
            assert all(engines[0].mask[i, action] for i, action in enumerate(a))
            for engine in engines:
                engine.step_many(a)
