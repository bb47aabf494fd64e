"""Actions that fill two cells of a board are scored by what is found there."""

import numpy as np
import pytest
import torch

from fastenv.errors import ConfigError
from tests.bits import equal
from training.ensemble.stacked import StackedNet
from training.nets.actor_critic import ActorCritic, load_net
from training.nets.distribution import Sampler, masked_log_probs
from training.nets.layout import Field, ObsLayout, Placements
from training.nets.placements import HEADS, MapHead, PlacementHead
from training.ppo.options import NativeConfig, PPOConfig

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


@pytest.mark.parametrize("heads", HEADS)
def test_every_part_of_the_head_learns(heads):
    net = made(heads=heads)
    net(observations(4))[0].square().sum().backward()
    for name, weight in net.policy_head.named_parameters():
        assert weight.grad.abs().sum() > 0, name
    assert all(weight.grad is not None for weight in net.encoder.parameters())


@pytest.mark.parametrize("heads", HEADS)
def test_it_begins_close_to_uniform_and_takes_part_in_a_checkpoint(heads):
    net, obs = made(heads=heads), observations(4)
    logits = net.logits(obs)
    assert logits.abs().max() < 0.5
    twin = made(heads=heads)
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
        hidden = head.first(found[lane, :, cell]) + head.whole(latent[lane]) + head.where[cell]
        torch.testing.assert_close(logits[lane, action], head.out(hidden.relu())[orientation])


def test_both_cells_of_a_placement_are_scored_by_shifted_planes():
    net, obs = made(heads="shift_and_score"), observations(3)
    head = net.policy_head
    with torch.no_grad():
        head.way.normal_()
        head.where.normal_()
    latent = net.policy_tower.layers(net.encoder(obs))
    logits = net.logits(obs)
    (conv,) = net.encoder.convs
    fields = net.encoder.split(obs)
    found = conv(fields["planes"]).view(3, -1, CELLS)
    for lane, action in [(0, 0), (1, COLUMNS - 1), (2, CELLS), (0, CELLS + 7), (2, ACTIONS - 1)]:
        orientation, cell = divmod(action, CELLS)
        hidden = head.first(found[lane, :, cell]) + head.whole(latent[lane]) + head.where[cell]
        hidden = hidden + head.way[orientation, 0]
        other = (*LYING, *STANDING)[action][1]
        if other >= 0:
            hidden = hidden + head.second(found[lane, :, other])
        cost = fields["costs"].reshape(3, -1)[lane, action]
        hidden = hidden + head.cost(cost.float().view(1) / 64)
        torch.testing.assert_close(logits[lane, action], head.out(hidden.relu())[0])


def test_factors_are_a_cell_and_how_a_pill_stands_in_its_column():
    net, obs = made(heads="factorised"), observations(3)
    head = net.policy_head
    with torch.no_grad():
        head.stands.normal_()
        head.out.weight.normal_()
    logits = net.logits(obs).view(3, 2, ROWS, COLUMNS)
    units = head.how(net.policy_tower.layers(net.encoder(obs)))[:, None, None, None] + head.stands
    how = units.relu() @ head.out.weight[0, -units.shape[-1] :]
    assert how.std() > 0
    torch.testing.assert_close(logits - how, (logits - how)[:, :1].expand(-1, 2, -1, -1))
    rest = (logits - how)[:, 0]
    assert (rest[:, 1:] - rest[:, :-1]).abs().max() > 0


def test_attention_sees_all_cells():
    net, obs = made(heads="cell_attention"), observations(2)
    features = net.encoder(obs).detach().requires_grad_()
    latent = torch.zeros(2, net.policy_tower.size_out)
    net.policy_head(latent, features)[0, 0].backward()
    board = net.encoder.places["planes"]
    by_cell = features.grad[0, board].view(-1, CELLS).abs().sum(0)
    assert (by_cell > 0).float().mean() > 0.9
    assert not features.grad[1].any()  # nothing of other games


@pytest.mark.parametrize("heads", HEADS)
def test_what_is_not_possible_has_no_probability(heads):
    net, obs = made(heads=heads), observations(5)
    mask = torch.from_numpy(np.random.default_rng(1).random((5, ACTIONS)) < 0.2)
    mask[0], mask[0, 3] = False, True
    logits, values = net(obs)
    assert (logits.shape, values.shape) == ((5, ACTIONS), (5,))
    assert torch.isfinite(logits).all()
    probs = masked_log_probs(logits, mask).exp()
    assert not probs[~mask].any()
    torch.testing.assert_close(probs.sum(1), torch.ones(5))
    sampler = Sampler(0, logits.device)
    for _ in range(20):
        drawn, logp = sampler.draw(logits, mask)
        assert mask.gather(1, drawn.unsqueeze(1)).all()
        torch.testing.assert_close(logp.exp(), probs.gather(1, drawn.unsqueeze(1)).squeeze(1))


@pytest.mark.parametrize("heads", HEADS)
def test_networks_of_an_ensemble_score_as_each_alone(heads):
    members, obs = [made(heads=heads) for _ in range(2)], observations(3)
    with torch.no_grad():
        for k, weight in enumerate(members[1].parameters()):
            weight.add_(0.01 * (k + 1))
    logits, _ = StackedNet(members)(torch.stack([obs, obs]))
    for found, member in zip(logits, members, strict=True):
        torch.testing.assert_close(found, member(obs)[0], rtol=1e-4, atol=1e-5)


def test_it_stands_behind_a_recurrent_cell_too():
    net, obs = made(recurrent="gru", recurrent_size=8), observations(4)
    logits, values, state = net.step(obs, state=net.initial_state(4))
    assert (logits.shape, values.shape, state.shape) == ((4, ACTIONS), (4,), (4, net.state_size))


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("native", [{"encoder": "flat"}, {"encoder": "pixels"}, {}])
def test_a_board_that_convolutions_do_not_see_is_refused(native, heads):
    shown = layout() if native else ObsLayout(5, ACTIONS)
    with pytest.raises(ConfigError, match=rf"native\.heads='{heads}'"):
        shown.check(NativeConfig(heads=heads, **native))


def test_a_network_that_is_loaded_has_the_values_it_was_saved_with():
    sections = PPOConfig(net_arch=(16,)), NativeConfig(heads="placements")
    saved = {name: value + 0.5 for name, value in made().state_dict().items()}
    loaded = load_net(*sections, layout(), saved)
    assert equal(dict(loaded.state_dict()), saved)
    policy = {name: value for name, value in saved.items() if not name.startswith("value_")}
    alone = load_net(*sections, layout(), policy).state_dict()
    assert equal({name: alone[name] for name in policy}, policy)
