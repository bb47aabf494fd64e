"""Properties of docs/skullking.md, 18 that hold for the engine as a whole."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.skullking import tables as t
from fastenv.skullking.layout import layout
from fastenv.verify import available, draw_options
from tests.processes import run_python
from tests.slow import diagonal, every
from tests.tables import walk

pytestmark = pytest.mark.parity

TIERS = ("flat", "manager", "worker", "ability")
RUNNABLE = [n for n, why in available(fastenv.make_game("SkullKingFlat-v0")).items() if why is None]
compiled = pytest.mark.skipif(len(RUNNABLE) == 1, reason="nothing compiled to test")


def engine_of(tier, n, seed, backend=RUNNABLE[-1], **options):
    engine = fastenv.make_engine(f"SkullKing{tier.title()}-v0", n, backend=backend, **options)
    engine.reset_many(seeds=seed)
    return engine


def random_step(engine, rng, **how):
    engine.step_many(fastenv.sample_legal(engine.mask, rng), **how)


# -- observations -------------------------------------------------------------------------------


@compiled
@walk(("tier", "players"), diagonal(TIERS, range(2, t.MAX_PLAYERS + 1)))
def test_observations_stay_within_their_bounds(tier, players):
    schedules = [*t.SCHEDULES, (10,) * t.MAX_ROUNDS]
    for k, schedule in enumerate(schedules):
        memory = (k + players) % 2 == 0
        engine = engine_of(
            tier, 16, 1000 * players + k, num_players=players, schedule=schedule,
            round_weights=[1.0] * len(t.SCHEDULES.get(schedule, schedule)),
            mode="game" if tier == "manager" and k % 3 else "round",
            obs_ext="memory" if memory else None,
            tigress="agent", opponents="random", two_player=("graybeard", "plain")[k % 2],
        )  # fmt: skip
        dim = layout(t.Tier[tier.upper()], players, memory)[-1].stop
        rng = np.random.default_rng(k)
        for _ in range(40):
            random_step(engine, rng)
            assert engine.obs.shape == (16, dim)
            for obs in (engine.obs, engine.final_obs):
                assert np.isfinite(obs).all()
                assert np.abs(obs).max() <= 1, (schedule, np.argwhere(np.abs(obs) > 1)[0])
            assert np.isfinite(engine.reward).all()
            assert engine.mask.any(axis=1).all()
            assert engine.mask.max() == 1


# -- hidden information -------------------------------------------------------------------------


def redeal_unseen(row, rules, rng):
    """Exchange the cards the actor has not seen; before the first card also the bids.

    After Jade only those of the other hands are left, and what somebody discarded with Bendt.
    """
    bits = int(row["known"][0]) | int(row["known"][1]) << 64
    unseen = [card for card in rules["deck"][: rules["deck_len"]] if not bits >> int(card) & 1]
    renamed = np.append(np.arange(t.NUM_CARDS), -1)  # the last entry is that of -1
    renamed[unseen] = rng.permutation(unseen)
    for name in ("stock", "discard"):
        row[name] = renamed[row[name]]
    row["voids"] = 0  # the other hands may hold what these seats have shown not to have
    players, actor = int(rules["num_players"]), int(row["actor"])
    for seat in set(range(int(rules["num_hands"]))) - {actor}:
        hand = row["hand"][seat, : row["hand_len"][seat]]
        hand[:] = renamed[hand]
        if seat < players:  # but Graybeard's
            hand.sort()
        has_bid = seat < players and row["bid"][seat] >= 0
        if has_bid and row["phase"] in (t.Phase.BID, t.Phase.CANNON):
            row["bid"][seat] = rng.integers(row["cards"] + 1)
            if rules["scoring"] == t.Scoring.RASCAL_CANNON:
                row["cannon"][seat] = rng.integers(2)


def see_nothing_hidden(tier, seed):
    options = draw_options(f"SkullKing{tier.title()}-v0", seed)
    engine, rng = engine_of(tier, 16, seed, **options), np.random.default_rng(seed)
    other = engine_of(tier, 16, 0, **options)
    for _ in range(12):
        rows, rules = engine.get_states(), engine.game.rules[0]
        for row in rows:
            redeal_unseen(row, rules, rng)
        other.set_states(rows)
        differing = np.argwhere(engine.obs.view(np.uint32) != other.obs.view(np.uint32))
        assert not differing.size, f"options {options}: (lane, index) {differing[0]}"
        assert engine.mask.tobytes() == other.mask.tobytes()
        random_step(engine, rng)


@compiled
@pytest.mark.parametrize("tier", every(4, TIERS))
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32))
def test_what_the_agent_cannot_see_does_not_show(tier, seed):
    see_nothing_hidden(tier, seed)


@compiled
@pytest.mark.slow
@pytest.mark.parametrize("tier", TIERS)
@given(seed=st.integers(0, 2**32))
def test_what_the_agent_cannot_see_does_not_show_in_many_games(tier, seed):
    see_nothing_hidden(tier, seed)


@compiled
def test_jades_stock_is_seen_and_kept_apart():
    """After Jade only the other hands may be exchanged; that case occurs and is tested."""
    engine = engine_of("ability", 512, 4, num_players=3, opponents="random")
    rng, seen = np.random.default_rng(0), 0
    other = engine_of("ability", 512, 0, num_players=3)
    for _ in range(60):
        random_step(engine, rng)
        rows = engine.get_states()
        lanes = np.flatnonzero(rows["jade_seat"] == rows["actor"])
        rows = engine.get_states(lanes)
        seen += len(rows)
        for row in rows:
            redeal_unseen(row, engine.game.rules[0], rng)
        if len(rows):
            other.set_states(rows, np.arange(len(rows)))
            assert other.obs[: len(rows)].tobytes() == engine.obs[lanes].tobytes()
    assert seen > 50


# -- processes ----------------------------------------------------------------------------------

DIGEST = """
import hashlib, numpy as np, fastenv

def digest(backend):
    vec = fastenv.make_vec(
        "SkullKingAbility-v0", 3, autoreset_mode="same_step", opponents="mixed", backend=backend
    )
    digest = hashlib.sha256(vec.reset(seed=1)[0].tobytes())
    rng = np.random.default_rng(0)
    for _ in range(120):
        obs, reward, *_ = vec.step(fastenv.sample_legal(vec.action_masks(), rng))
        for array in (obs, reward, vec.get_states()):
            digest.update(array.tobytes())
    return digest.hexdigest()
"""


@pytest.mark.slow
def test_another_process_and_the_reference_play_the_same_game():
    code = f"{DIGEST}\nprint(digest({RUNNABLE[-1]!r}))"
    out = run_python("-c", code, PYTHONHASHSEED="77").stdout
    names: dict = {}
    exec(DIGEST, names)
    assert out.strip() == names["digest"]("reference")
    assert len(out.strip()) == 2 * hashlib.sha256().digest_size


# -- the kernels without Numba's compiler --------------------------------------------------------


@pytest.mark.slow
def test_kernels_agree_without_the_compiler():
    run = run_python("-m", "tests.parity.kernels_without_jit", NUMBA_DISABLE_JIT="1")
    assert run.stdout.strip() == "same"
