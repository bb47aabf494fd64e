"""Actions that fill two cells of a board are scored by what is found there."""

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from training.nets.actor_critic import ActorCritic
from training.nets.layout import Field, ObsLayout
from training.nets.placements import MapHead, PlacementHead
from training.run.games import Placements
from training.run.options.ppo import NativeConfig, PPOConfig

ROWS, COLUMNS, CHANNELS = 5, 4, 9  # more channels than cells of a side
CELLS = ROWS * COLUMNS
LYING = [(cell, cell + 1 if (cell + 1) % COLUMNS else -1) for cell in range(CELLS)]
STANDING = [(cell, cell - COLUMNS if cell >= COLUMNS else -1) for cell in range(CELLS)]
ACTIONS = len(LYING + STANDING)


def layout(costs=True):
    planes = (CHANNELS, ROWS, COLUMNS)
    fields = [Field("pill", (3,)), Field("planes", planes, offset=12, kind="planes")]
    if costs:
        offset = 12 + fields[1].nbytes
        fields.append(Field("costs", (2, ROWS, COLUMNS), "int16", offset, 64.0, kind="numbers"))
    last = fields[-1]
    return ObsLayout(
        obs_size=sum(field.size for field in fields),
        num_actions=ACTIONS,
        fields=tuple(fields),
        record_size=last.offset + last.nbytes,
        placements=Placements("planes", (*LYING, *STANDING), "costs" if costs else None),
    )


def made(costs=True, heads="placements", **native):
    sections = PPOConfig(net_arch=(16,)), NativeConfig(heads=heads, **native)
    return ActorCritic(layout(costs), *sections, seed=3)


def observations(n, costs=True):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3 + CHANNELS * CELLS)).astype("f4").view("u1")]
    if costs:
        parts.append(rng.integers(0, 100, (n, ACTIONS)).astype("i2").view("u1"))
    return torch.from_numpy(np.concatenate(parts, axis=1))


@pytest.mark.parametrize("costs", [True, False])
def test_a_score_is_that_of_an_mlp_over_both_halves_the_whole_and_the_cost(costs):
    net, obs = made(costs), observations(3, costs)
    head = net.policy_head
    assert isinstance(head, PlacementHead)
    with torch.no_grad():
        head.which.normal_()
    features = net.encoder(obs)
    latent = net.policy_tower.layers(features)
    logits = net(obs)[0]
    assert logits.shape == net.logits(obs).shape == (3, ACTIONS)
    (conv,) = net.encoder.convs
    fields = net.encoder.split(obs)
    found = conv(fields["planes"]).view(3, -1, CELLS)
    for lane, action in [(0, 0), (1, 7), (2, COLUMNS - 1), (0, CELLS + 1), (2, ACTIONS - 1)]:
        halves = [
            found[lane, :, cell] if cell >= 0 else torch.zeros(found.shape[1])
            for cell in (*LYING, *STANDING)[action]
        ]
        score = head.first(halves[0]) + head.second(halves[1]) + head.whole(latent[lane])
        score = score + head.which[action]
        if costs:
            cost = fields["costs"].reshape(3, -1)[lane, action]
            score = score + head.cost(cost.float().view(1) / 64)
        expected = head.out(head.hidden(score.relu()).relu())[0]
        torch.testing.assert_close(logits[lane, action], expected)


@pytest.mark.parametrize("heads", ["placements", "map"])
def test_every_part_of_the_head_learns(heads):
    net = made(heads=heads)
    net(observations(4))[0].square().sum().backward()
    for name, weight in net.policy_head.named_parameters():
        assert weight.grad.abs().sum() > 0, name
    assert all(weight.grad is not None for weight in net.encoder.parameters())


def test_it_begins_close_to_uniform_and_takes_part_in_a_checkpoint():
    net, obs = made(), observations(4)
    logits = net.logits(obs)
    assert logits.abs().max() < 0.5
    twin = made()
    with torch.no_grad():
        twin.policy_head.out.weight.zero_()
    twin.load_state_dict(net.state_dict())
    assert torch.equal(twin.logits(obs), logits)
    assert "policy_head.cells" not in net.state_dict()


def test_only_what_is_possible_is_scored_and_comes_to_the_same():
    net, obs = made(), observations(6)
    costs = obs[:, -2 * ACTIONS :].view(torch.int16)
    costs[torch.rand(costs.shape, generator=torch.Generator().manual_seed(0)) < 0.8] = -1
    possible = costs >= 0
    assert 0 < possible.sum() < possible.numel() / 2
    found = []
    for may_choose in (True, False):
        net.policy_head.may_choose = may_choose
        net.zero_grad()
        logits = net.logits(obs)
        (logits.sin() * possible).sum().backward()
        found.append((logits, {n: p.grad for n, p in net.named_parameters() if p.grad is not None}))
    (chosen, by_chosen), (every, by_every) = found
    assert torch.equal(chosen != 0, possible)
    torch.testing.assert_close(chosen[possible], every[possible])
    torch.testing.assert_close(by_chosen, by_every)


def test_a_plane_of_scores_comes_from_what_is_at_its_cells():
    net, obs = made(heads="map"), observations(3)
    head = net.policy_head
    assert isinstance(head, MapHead)
    features = net.encoder(obs)
    latent = net.policy_tower.layers(features)
    logits = net.logits(obs)
    (conv,) = net.encoder.convs
    found = conv(net.encoder.split(obs)["planes"]).view(3, -1, CELLS)
    for lane, action in [(0, 0), (1, CELLS - 1), (2, CELLS), (0, ACTIONS - 1)]:
        orientation, cell = divmod(action, CELLS)
        hidden = head.found(found[lane, :, cell]) + head.whole(latent[lane]) + head.where[cell]
        torch.testing.assert_close(logits[lane, action], head.out(hidden.relu())[orientation])


def test_it_stands_behind_a_recurrent_cell_too():
    net, obs = made(recurrent="gru", recurrent_size=8), observations(4)
    logits, values, state = net.step(obs, state=net.initial_state(4))
    assert (logits.shape, values.shape, state.shape) == ((4, ACTIONS), (4,), (4, net.state_size))


@pytest.mark.parametrize("heads", ["placements", "map"])
@pytest.mark.parametrize("native", [{"encoder": "flat"}, {}])
def test_a_board_that_convolutions_do_not_see_is_refused(native, heads):
    shown = layout() if native else ObsLayout(5, ACTIONS)
    with pytest.raises(ConfigError, match=rf"native\.heads='{heads}'"):
        shown.check(NativeConfig(heads=heads, **native))
