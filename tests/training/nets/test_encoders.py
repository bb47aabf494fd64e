"""Networks see every field of an observation as what it is: numbers, an image, a board."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.tables import walk
from training.dqn.options import DQNConfig
from training.nets.actor_critic import ActorCritic
from training.nets.encoders import Convolutions, Encoder, Patches, _to_floats
from training.nets.layout import (
    Field,
    ObsLayout,
    as_array,
    as_tensor,
    fields_of,
    storage,
    without_padding,
)
from training.nets.options import NATURE
from training.nets.q_network import QNetwork
from training.ppo.options import NativeConfig, PPOConfig

KINDS = ("uint8", "int8", "bool", "int16", "uint16", "int32", "uint32", "int64", "f4", "f8", "f2")
RECORD = np.dtype([("a", "u1", (5,)), ("b", "f8"), ("c", "f4", (2, 3)), ("d", "i2")], align=True)
BOUNDS = {"a": (0, 10), "b": (-9.0, 9.0), "c": (0.0, 1.0), "d": (-100, 50)}


def layout_of(dtype, shape=(), bounds=None):
    dtype = np.dtype(dtype)
    fields = fields_of(dtype, shape, bounds)
    size = dtype.itemsize if dtype.names else 0
    return ObsLayout(sum(field.size for field in fields), 3, fields, size)


def random_records(n, seed=0):
    rng, found = np.random.default_rng(seed), np.zeros(n, RECORD)
    found["a"], found["d"] = rng.integers(0, 11, (n, 5)), rng.integers(-100, 51, n)
    found["b"], found["c"] = rng.normal(size=n), rng.normal(size=(n, 2, 3))
    return found


def test_a_vector_of_floats_is_taken_as_it_is():
    obs = torch.randn(4, 7)
    for layout in (ObsLayout(7, 3), layout_of("f4", (7,))):
        encoder = Encoder(layout)
        assert encoder.size_out == 7
        assert list(encoder.state_dict()) == []
        assert encoder(obs).data_ptr() == obs.data_ptr()


def test_fields_of_a_record_stand_side_by_side():
    found = random_records(6)
    encoder = Encoder(layout_of(RECORD, bounds=BOUNDS))
    columns = [found["a"] / 10, found["b"], found["c"].reshape(6, 6), found["d"] / 100]
    expected = np.column_stack(columns).astype(np.float32)
    seen = encoder(as_tensor(found))
    assert seen.dtype == torch.float32
    assert encoder.size_out == expected.shape[1]
    np.testing.assert_allclose(seen, expected, rtol=1e-6)
    part = as_tensor(found[1:4:2])  # no longer contiguous
    np.testing.assert_allclose(encoder(part), expected[1:4:2], rtol=1e-6)


@walk("kind", KINDS)
def test_numbers_of_any_type_are_seen(kind):
    values = np.array([[0, 1, 1], [1, 0, 1]], kind)
    high = np.iinfo(kind).max if values.dtype.kind in "iu" else 1
    low = np.iinfo(kind).min if values.dtype.kind in "iu" else 0
    expected = values.astype(np.float64) / max(high, -low)
    plain = Encoder(layout_of(kind, (3,)))
    np.testing.assert_allclose(plain(as_tensor(values)), expected, rtol=1e-6)
    record = np.zeros(2, np.dtype([("x", kind, (3,)), ("y", kind)], align=True))
    record["x"] = values
    encoder = Encoder(layout_of(record.dtype))
    np.testing.assert_allclose(encoder(as_tensor(record))[:, :3], expected, rtol=1e-6)


def test_numbers_are_shown_by_bins_where_a_game_asks_for_them():
    (a, b) = (Field("a", (2,), bins=4), Field("b", (1,), offset=8))
    encoder = Encoder(ObsLayout(3, 2, (a, b), 12))
    numbers = torch.tensor([[0.0, 1.0, 7.0], [1 / 3, 0.5, -2.0]])
    expected = [[1, 0, 0, 0, 0, 0, 0, 1, 7.0], [0, 1, 0, 0, 0, 0.5, 0.5, 0, -2]]
    assert encoder.size_out == 9
    torch.testing.assert_close(encoder(numbers.view(torch.uint8)), torch.tensor(expected))
    assert [encoder.places[name] for name in "ab"] == [slice(0, 8), slice(8, 9)]


@walk(
    ("shape", "channels_first"),
    [((4, 84, 84), True), ((84, 84, 3), False), ((84, 100), True), ((36, 36), True)],
)
def test_images_go_through_three_convolutions(shape, channels_first):
    encoder = Encoder(layout_of("u1", shape, (0, 255)))
    (conv,) = encoder.convs
    assert [layer.kernel_size[0] for layer in conv.layers[::2]] == [8, 4, 3]
    obs = torch.randint(0, 256, (2, *shape), dtype=torch.uint8)
    found = encoder(obs)
    assert found.shape == (2, encoder.size_out)
    if shape == (4, 84, 84):
        assert encoder.size_out == 64 * 7 * 7
    planes = obs if obs.ndim == 4 else obs.unsqueeze(1)
    planes = planes if channels_first else planes.permute(0, 3, 1, 2)
    torch.testing.assert_close(conv.layers(planes.float() / 255).flatten(1), found)


def test_convolutions_are_those_that_were_asked_for():
    layout = layout_of("u1", (2, 72, 80), (0, 3))
    encoder = Encoder(layout, convs=((16, 8, 8), (24, 3, 2)))
    first, second = encoder.convs[0].layers[::2]
    assert isinstance(first, Patches)
    assert not isinstance(second, Patches)
    assert encoder.size_out == 24 * 4 * 4
    too_deep = NativeConfig(convs=((16, 8, 8), (16, 8, 8), (8, 2, 1)))
    with pytest.raises(ConfigError, match=r"native.convs=.*smaller than an image of \(72, 80\)"):
        Encoder(layout, convs=too_deep.convs)
    with pytest.raises(ConfigError, match=r"dqn.convs=.*smaller than an image of \(72, 80\)"):
        QNetwork(layout, DQNConfig(convs=too_deep.convs))
    for name, config in (("native", NativeConfig), ("dqn", DQNConfig)):
        for wrong in ((), ((16, 8),), ((16, 8, 0),)):
            with pytest.raises(ConfigError, match=rf"{name}.convs=.*\[channels, side, stride\]"):
                config(convs=wrong)


def test_convolutions_over_a_board_keep_its_size():
    layout, plan = layout_of("u1", (3, 16, 8), (0, 1)), ((6, 7, 1), (5, 1, 3))
    encoders = [
        ActorCritic(layout, PPOConfig(), NativeConfig(board=plan)).encoder,
        QNetwork(layout, DQNConfig(board=plan)).encoder,
    ]
    for encoder in encoders:
        made = [(c.out_channels, *c.kernel_size) for c in encoder.convs[0].layers[::2]]
        assert made == [*plan]
        assert encoder.size_out == 5 * 16 * 8
    x = torch.randint(0, 2, (4, 3, 16, 8), dtype=torch.uint8)
    one, _, other, _ = encoders[0].convs[0].layers
    planes = torch.nn.functional.conv2d(x.float(), one.weight, one.bias, padding=(3, 0)).relu()
    planes = torch.nn.functional.conv2d(planes, other.weight, other.bias, padding=(0, 1)).relu()
    torch.testing.assert_close(encoders[0](x), planes.flatten(1))
    for config in (NativeConfig, DQNConfig):
        for wrong in ((), ((16, 8),), ((16, 2, 3),), ((16, 3, 4),), ((0, 3, 3),)):
            with pytest.raises(ConfigError, match=r"board=.*\[channels, height, width\]"):
                config(board=wrong)


def test_both_trainers_make_the_convolutions_that_their_section_asks_for():
    layout, plan = layout_of("u1", (2, 72, 80), (0, 3)), ((16, 8, 8), (24, 3, 2))
    for asked in (plan, NATURE):
        theirs = ActorCritic(layout, PPOConfig(), NativeConfig(convs=asked)).encoder
        ours = QNetwork(layout, DQNConfig(convs=asked)).encoder
        (found,) = ours.convs
        made = [(c.out_channels, c.kernel_size[0], c.stride[0]) for c in found.layers[::2]]
        assert made == [*asked]
        obs = torch.randint(0, 4, (3, 2, 72, 80), dtype=torch.uint8)
        ours.load_state_dict(theirs.state_dict())
        assert torch.equal(ours(obs), theirs(obs))


@walk(("channels", "side", "sides"), [(1, 8, (72, 80)), (3, 5, (38, 44))])
def test_patches_are_a_convolution_in_bfloat16_too(channels, side, sides):
    torch.manual_seed(0)
    layer, x = Patches(channels, 6, side, side), torch.randint(0, 4, (7, channels, *sides)) / 3
    plain = torch.nn.functional.conv2d(x, layer.weight, layer.bias, side)
    torch.testing.assert_close(layer(x), plain)
    slope = torch.randn_like(plain)
    grads = [torch.autograd.grad(y, layer.weight, slope)[0] for y in (plain,)]
    with torch.autocast("cpu", torch.bfloat16):
        low = layer(x)
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), plain, atol=0.02, rtol=0.02)
    grads += torch.autograd.grad(low, layer.weight, slope.bfloat16())
    torch.testing.assert_close(grads[1], grads[0], atol=0.1, rtol=0.05)


def test_bytes_of_an_image_are_the_same_in_bfloat16_as_rounded_from_float32():
    field = fields_of(np.dtype("u1"), (72, 80), (0, 255))[0]
    x = torch.arange(256, dtype=torch.uint8)
    assert torch.equal(_to_floats(x, field, low=True), _to_floats(x, field).bfloat16())


def test_cells_of_a_board_become_one_channel_a_value():
    encoder = Encoder(layout_of("i1", (16, 8), (-1, 3)))
    (conv,) = encoder.convs
    assert conv.layers[0].in_channels == 5
    assert encoder.size_out == 32 * 16 * 8
    board = torch.randint(-1, 4, (3, 16, 8), dtype=torch.int8)
    planes = torch.nn.functional.one_hot(board.long() + 1, 5).permute(0, 3, 1, 2).float()
    torch.testing.assert_close(conv.layers(planes).flatten(1), encoder(board))


def test_images_of_a_record_stand_behind_its_numbers():
    dtype = np.dtype([("board", "u1", (6, 5)), ("me", "f4", (3,)), ("eye", "u1", (2, 2))])
    dtype = np.dtype(dtype.descr, align=True)
    encoder = Encoder(layout_of(dtype, bounds={"board": (0, 2), "me": (0, 1), "eye": (0, 255)}))
    assert [conv.field.name for conv in encoder.convs] == ["board"]
    assert encoder.size_out == 3 + 4 + 32 * 30
    found = np.zeros(2, dtype)
    found["me"], found["board"] = [[1, 2, 3], [4, 5, 6]], 1
    seen = encoder(as_tensor(found))
    assert torch.equal(seen[:, :3], torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    assert torch.equal(seen[:, 7:], encoder.convs[0](torch.from_numpy(found["board"])))


def test_convolutions_are_chosen_refused_or_left_out():
    board = layout_of("u1", (8, 8), (0, 255))
    assert len(Encoder(board).convs) == len(Encoder(board, "conv").convs) == 1
    flat = Encoder(board, "flat")
    assert (len(flat.convs), flat.size_out) == (0, 64)
    assert len(Encoder(layout_of("u1", (3, 3))).convs) == 0
    board.check(NativeConfig(encoder="conv"))
    with pytest.raises(ConfigError, match=r"native\.encoder='conv'"):
        layout_of("f4", (9,)).check(NativeConfig(encoder="conv"))


def test_a_channel_is_the_shorter_end():
    assert Convolutions(Field("", (3, 9, 10))).layers[0].in_channels == 3
    assert Convolutions(Field("", (9, 10, 3))).layers[0].in_channels == 3
    assert Convolutions(Field("", (9, 10, 9))).layers[0].in_channels == 9


def test_a_game_tells_what_the_shape_of_a_field_does_not():
    planes = Field("", (12, 6, 4), kind="planes")
    assert (planes.sides, planes.is_image) == ((6, 4), True)
    conv = Convolutions(planes)
    assert (conv.layers[0].in_channels, conv.num_cells, conv.size_out) == (12, 24, 32 * 24)
    obs = torch.rand(2, 12, 6, 4)
    torch.testing.assert_close(conv(obs), conv.layers(obs).flatten(1))
    assert not Field("", (2, 6, 4), kind="numbers").is_image


# -- the way through a rollout ---------------------------------------------------------------------


def test_an_engine_writes_records_into_a_tensor():
    engine = SimpleNamespace(obs_dtype=RECORD, obs_shape=())
    shape, dtype = storage(engine)
    stored = torch.zeros(3, 4, *shape, dtype=dtype)
    rows = as_array(stored, engine)
    assert (rows.shape, rows.dtype) == ((3, 4), RECORD)
    assert rows[1].flags.c_contiguous
    rows[1] = found = random_records(4, seed=2)
    assert torch.equal(stored[1], as_tensor(found))


def test_what_lies_between_fields_is_not_saved():
    engine = SimpleNamespace(obs_dtype=RECORD, obs_shape=())
    stored = torch.full((4, RECORD.itemsize), 255, dtype=torch.uint8)
    found = random_records(4)
    for name in RECORD.names:
        as_array(stored, engine)[name] = found[name]
    kept = without_padding(stored, engine)
    clean = np.zeros(4, RECORD)
    for name in RECORD.names:
        clean[name] = found[name]
    assert kept.tobytes() == clean.tobytes()
    assert (stored.numpy() == 255).any()  # a copy
