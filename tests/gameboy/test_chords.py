"""Actions as chords and as bits, repeated frames, and pictures that are pooled."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

import fastenv
from fastenv.engine import BatchEngine
from fastenv.errors import ConfigError, InvalidActionError
from fastenv.gameboy import make_game
from fastenv.gameboy.buttons import BUTTONS, MULTI_BINARY
from fastenv.gameboy.tables import Key
from tests.gameboy.lanes import SHORT, engine_of
from tests.gameboy.test_lanes import all_agree
from tests.needs import FASTEST, needs_core
from tests.tables import walk

CHORDS = [[], ["a"], ["b", "right"]]
HELD = SHORT | {"stack_k": 1}  # a step of one frame, whose buttons are held
PAIRS = (1 << Key.LEFT | 1 << Key.RIGHT, 1 << Key.UP | 1 << Key.DOWN)


def test_a_chord_presses_all_of_its_buttons():
    engine = engine_of(3, actions=CHORDS, **HELD)
    engine.step_many(np.arange(3))
    assert engine.get_states()["keys"].tolist() == [0, 1 << Key.A, 1 << Key.B | 1 << Key.RIGHT]
    game = engine.game
    assert [game.action_name(k) for k in range(3)] == ["noop", "a", "right+b"]


def test_bits_are_buttons_and_opposite_ones_cancel():
    game = make_game(actions=MULTI_BINARY, allowed_buttons=("left", "right", "a"), **HELD)
    engine = BatchEngine(game, 256, FASTEST)
    engine.reset_many(seeds=0)
    engine.step_many(np.arange(256))
    allowed = 1 << Key.LEFT | 1 << Key.RIGHT | 1 << Key.A
    for number, keys in enumerate(engine.get_states()["keys"].tolist()):
        kept = number
        for pair in PAIRS:
            kept &= ~pair if kept & pair == pair else kept
        assert keys == kept & allowed
        assert engine.mask[number, 0] == 1
        assert engine.mask[0, number] == (kept == number & allowed == number)


@pytest.mark.parametrize("many", [False, True])
def test_views_show_bits_and_take_numbers_too(many):
    options = {"actions": MULTI_BINARY, "backend": FASTEST, **HELD}
    bits = np.zeros(8, np.int8)
    bits[[Key.B, Key.RIGHT]] = 1
    wanted = 1 << Key.B | 1 << Key.RIGHT
    if many:
        vec = fastenv.make_vec("GameBoyPixels-v0", 2, **options)
        assert vec.single_action_space == spaces.MultiBinary(8)
        vec.reset(seed=0)
        assert vec.action_masks().shape == (2, 256)
        for given_ in (np.stack([bits, 0 * bits]), [wanted, 0]):
            vec.step(np.array(given_))
            assert vec.get_states()["keys"].tolist() == [wanted, 0]
        assert vec.action_space.contains(vec.action_space.sample())
        vec.step(vec.action_space.sample())
    else:
        env = fastenv.make("GameBoyPixels-v0", **options)
        assert env.action_space == spaces.MultiBinary(8)
        env.reset(seed=0)
        for action in (bits, bits.tolist(), bits.astype(np.float32), wanted, np.int64(wanted)):
            env.step(action)
            assert env.get_state()["keys"] == wanted
    assert [*BUTTONS] == ["right", "left", "up", "down", "a", "b", "select", "start"]


def test_gymnasium_checks_an_environment_of_bits():
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("fastenv/GameBoyPixels-v0", actions=MULTI_BINARY, backend=FASTEST, **HELD)
    check_env(env.unwrapped, skip_render_check=True)


def test_two_spaces_draw_each_by_itself():
    one, other = (fastenv.make("GameBoyPixels-v0", actions=MULTI_BINARY, **HELD) for _ in range(2))
    one.action_space.seed(1), other.action_space.seed(1)
    assert np.array_equal(one.action_space.sample(), other.action_space.sample())
    one.action_space.sample()
    one.action_space.seed(2)
    other.action_space.seed(2)
    assert np.array_equal(one.action_space.sample(), other.action_space.sample())


@pytest.mark.parametrize(
    ("actions", "says"),
    [
        (np.full((2, 8), 2), "lane 0: action .* 0 or 1 a button"),
        (np.array([0, 256]), "lane 1: action 256 .* allowed are 0..255"),
        (np.zeros((2, 7), int), r"must have shape \(2, 8\)"),
        (np.zeros(2), "got dtype float64"),
        (np.full((2, 8), np.nan), "lane 0"),
    ],
)
def test_wrong_bits_are_refused_and_nothing_moves(actions, says):
    engine = engine_of(2, actions=MULTI_BINARY, **HELD)
    before = engine.get_state()
    with pytest.raises(InvalidActionError, match=says):
        engine.step_many(actions)
    assert np.array_equal(engine.get_state(), before)


@walk("action", [np.zeros(7), 256, -1, 0.5, None, [2] * 8, "a"])
def test_a_wrong_action_of_one_environment_is_refused(action):
    env = fastenv.make("GameBoyPixels-v0", actions=MULTI_BINARY, **HELD)
    env.reset(seed=0)
    with pytest.raises(InvalidActionError, match="action"):
        env.step(action)


REFUSED = [
    ({"actions": []}, "actions=.* must be 'multi_binary', or a list of 1 to 256 chords"),
    ({"actions": "binary"}, "must be 'multi_binary'"),
    ({"actions": [["a"], "b"]}, r"actions\[1\]='b' .* a list of some of right"),
    ({"actions": [["jump"]]}, r"actions\[0\]=\['jump'\]"),
    ({"actions": [["left", "a", "right"]]}, "without one of left and right"),
    ({"actions": [["a", "b"], ["b", "a"]]}, r"actions\[1\].* another one"),
    ({"actions": [["a", "a"]]}, r"actions\[0\].* each button once"),
    ({"actions": [[]] * 300}, "1 to 256 chords"),
    ({"actions": CHORDS, "action_codec": "all9"}, "action_codec='all9' .* left out"),
    ({"frame_skip": 0}, "frame_skip=0"), ({"frame_skip": (2, 5)}, "frame_skip"),
    ({"frame_skip": 4, "frames_per_step": 4}, "left out: frame_skip"),
    ({"repeat_action_probability": 2}, "repeat_action_probability=2"),
    ({"repeat_action_probability": 0.2, "sticky": 0.2}, "sticky=0.2 .* 0 beside"),
    ({"max_pool": 1}, "max_pool=1"),
    ({"max_pool": True, "frame_skip": 1}, "False with frames_per_step=1"),
    ({"max_pool": True, "kind": "goal"}, "goals are pictures"),
]  # fmt: skip


@walk(("options", "says"), REFUSED, ids=lambda x: str(x)[:40])
def test_bad_options_are_refused_by_name(options, says):
    with pytest.raises(ConfigError, match=says):
        make_game(**options)


def test_frame_skip_holds_its_buttons():
    config = make_game(frame_skip=4).config
    assert (config.frames_per_step, config.release_after_frames) == (4, 4)
    config = make_game(frame_skip=4, release_after_frames=1).config
    assert (config.frames_per_step, config.release_after_frames) == (4, 1)


# -- all backends ----------------------------------------------------------------------------------

chords = st.lists(
    st.sets(st.sampled_from(BUTTONS)).filter(
        lambda chord: not ({"left", "right"} <= chord or {"up", "down"} <= chord)
    ),
    min_size=1, max_size=6, unique_by=frozenset,
).map(lambda found: [sorted(chord) for chord in found])  # fmt: skip
steps = st.integers(1, 3).flatmap(
    lambda frames: st.fixed_dictionaries(
        {
            "frames_per_step": st.just(frames),
            "release_after_frames": st.integers(1, frames),
            "max_pool": st.booleans() if frames > 1 else st.just(False),
        }
    )
)
repeats = st.one_of(
    st.just({}), st.just({"sticky": 0.4}), st.just({"repeat_action_probability": 0.4})
)


@settings(max_examples=3, deadline=None)
@given(
    actions=st.one_of(chords, st.just(MULTI_BINARY)),
    step=steps,
    repeat=repeats,
    pixels=st.sampled_from(["72x80", "84x84", "160x144", "packed72x20"]),
    policy=st.sampled_from(["lcd", "fixed"]),
    seed=st.integers(0, 999),
)
def test_backends_agree_on_chords_and_repeats(
    actions, step, repeat, pixels, policy, seed, backends
):
    game = make_game(
        actions=actions, **step, **repeat, pixels=pixels, states="lantern_walk", start_state=None,
        stack_k=2, frame_policy=policy,
    )  # fmt: skip
    engines = [BatchEngine(game, 2, backend) for backend in backends]
    rng = np.random.default_rng(seed)
    for engine in engines:
        engine.reset_many(seeds=seed)
    for _ in range(2):
        taken = rng.integers(0, game.spec.num_actions, 2)
        for engine in engines:
            engine.step_many(taken)
        all_agree(engines)


@needs_core
def test_frames_repeat_at_their_rate_and_go_on_in_the_next_step():
    n = 512
    engine = engine_of(n, repeat_action_probability=0.25, frame_skip=2, stack_k=1)
    engine.step_many(np.full(n, 4))
    first = np.mean(engine.get_states()["last_action"] == 0)  # both frames repeated
    assert 0.03 < first < 0.1
    engine.step_many(np.full(n, 5))
    later = engine.get_states()["last_action"]
    assert set(np.unique(later)) == {0, 4, 5}


@needs_core
def test_pooled_frames_are_the_darker_of_two_pictures():
    options = {"states": "lantern_walk", "start_state": 3, "stack_k": 1, "pixels": "160x144"}
    held = {"frames_per_step": 1, "release_after_frames": 1}
    single = engine_of(1, **options, **held)
    pooled = engine_of(1, **options, frame_skip=4, max_pool=True)
    moved = 0
    for action in (5, 7, 7, 4):
        shades = []
        for _ in range(4):
            single.step_many(np.array([action]))
            shades.append(single.obs[0, 0].copy())
        pooled.step_many(np.array([action]))
        assert np.array_equal(pooled.obs[0, 0], np.maximum(*shades[2:]))
        moved += not np.array_equal(*shades[2:])
    assert moved
