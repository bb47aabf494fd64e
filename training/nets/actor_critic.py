"""The network of policy and value: encoder, towers of hidden layers, cells and heads.

::

    obs -> encoder [-> attention] -> tower: hidden layers [-> cell] -> policy head(s)
                                  -> tower (or the same one)       -> value head(s)

With ``native.critic_view`` the value tower also reads what the game shows to it alone. That enters
behind the features of the observation, so nothing of it reaches the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from training.nets.encoders import make_encoder
from training.nets.layers import VALUE_GAIN, hidden_layers, orthogonal
from training.nets.layout import ObsLayout, as_tensor
from training.nets.options import ActorCriticConfig, HiddenConfig
from training.nets.placements import HEADS, BoardHead
from training.nets.recurrent import CELLS, Cell, unroll

Logits = Callable[[np.ndarray], np.ndarray]
POLICY_GAIN = 0.01  # of its head: all actions nearly equally likely at first
CARD_WIDTH = 32  # hidden units of a card's score


class Tower(nn.Module):
    """Hidden layers, followed by a recurrent cell if there is one.

    Parameters
    ----------
    size_in : int
    ppo : HiddenConfig
    native : ActorCriticConfig
    """

    def __init__(self, size_in: int, ppo: HiddenConfig, native: ActorCriticConfig) -> None:
        super().__init__()
        self.layers = hidden_layers(size_in, ppo.net_arch, ppo.activation)
        size_in = ppo.net_arch[-1]
        self.cell: Cell | None = None
        if native.recurrent != "none":
            self.cell = CELLS[native.recurrent](size_in, native.recurrent_size)
        self.size_out = size_in if self.cell is None else self.cell.size_out
        self.state_size = 0 if self.cell is None else self.cell.state_size


class ActorCritic(nn.Module):
    """Policy and value of observations.

    Parameters
    ----------
    layout : ObsLayout
    ppo : HiddenConfig
    native : ActorCriticConfig
    seed : int
        Of the initial parameters; the global generator is left alone.

    Raises
    ------
    ConfigError
        If the environment does not show what the network looks for.
    """

    def __init__(
        self, layout: ObsLayout, ppo: HiddenConfig, native: ActorCriticConfig, seed: int = 0
    ) -> None:
        super().__init__()
        layout.check(native)
        parts = self.parts = layout.parts
        self.num_actions = layout.num_actions
        self.num_heads = parts.phase[1] if native.heads == "phase" and parts.phase else 1
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.encoder = make_encoder(
                layout,
                native.encoder,
                native.convs,
                board=native.board,
                normalize=native.normalize_observations,
            )
            size = self.encoder.size_out
            self.attention = None
            if native.attention:
                self.attention = CardAttention(parts.slots, native.attention)
                size += self.attention.size_out
            self.policy_tower = Tower(size, ppo, native)
            separate = native.trunk == "separate"
            self.view_size = layout.critic_view if native.critic_view else 0
            self.value_tower = Tower(size + self.view_size, ppo, native) if separate else None
            width = self.policy_tower.size_out
            self.policy_head: nn.Linear | BoardHead | CardHead
            if native.heads in HEADS and parts.placements:
                head = HEADS[native.heads]
                self.policy_head = head(parts.placements, self.encoder, width)
            elif native.heads == "cards" and parts.hand:
                self.policy_head = CardHead(parts.hand, width, layout.num_actions)
            else:
                self.policy_head = nn.Linear(width, self.num_heads * layout.num_actions)
            self.value_head = nn.Linear(width, 1)
            self._initialise()
            # Drawn last: the rest begins as it would without.
            self.aux_head = nn.Linear(width, native.aux_head) if native.aux_head else None
            if self.aux_head is not None:
                nn.init.orthogonal_(self.aux_head.weight, POLICY_GAIN)
                nn.init.zeros_(self.aux_head.bias)
        towers = 1 if self.value_tower is None else 2
        self.state_size = towers * self.policy_tower.state_size

    @torch.no_grad()
    def _initialise(self) -> None:
        orthogonal(self)
        head = self.policy_head
        last = head if isinstance(head, nn.Linear) else head.out
        for weight in last.weight.chunk(self.num_heads):
            nn.init.orthogonal_(weight, POLICY_GAIN)
        if isinstance(head, CardHead):
            nn.init.orthogonal_(head.score.weight, POLICY_GAIN)
        nn.init.orthogonal_(self.value_head.weight, VALUE_GAIN)

    @property
    def is_recurrent(self) -> bool:
        """Whether there is a state to carry."""
        return self.state_size > 0

    def initial_state(self, lanes: int) -> Tensor:
        """Return the state of fresh episodes, float32, shape (lanes, state_size)."""
        return torch.zeros(lanes, self.state_size, device=self.value_head.weight.device)

    # -- forward ---------------------------------------------------------------------------------

    def forward(
        self, obs: Tensor, view: Tensor | None = None, valued: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Compute logits (n, A) and values (k,), without a state.

        Parameters
        ----------
        obs : Tensor, shape (n, ...)
        view : Tensor of uint8, shape (k, view_size), optional
            What the value network alone sees; left out where values do not matter.
        valued : int, optional
            Only the first k observations have a value; default all.
        """
        x = self._encode(obs)
        seen = self._add_view(x[:valued], view)
        latent = value_latent = self.policy_tower.layers(x)
        if self.value_tower is not None:
            value_latent = self.value_tower.layers(seen)
        return self._logits(latent, x), self._values(value_latent[:valued])

    def logits(self, obs: Tensor) -> Tensor:
        """Compute the logits (n, A) alone, without a state."""
        x = self._encode(obs)
        return self._logits(self.policy_tower.layers(x), x)

    def value(self, obs: Tensor, *, state: Tensor, view: Tensor | None = None) -> Tensor:
        """Compute the values (n,) alone; see :meth:`step`."""
        if self.is_recurrent or self.value_tower is None:
            return self.step(obs, state=state)[1]
        seen = self._add_view(self._encode(obs), view)
        return self._values(self.value_tower.layers(seen))

    def auxiliary(self, obs: Tensor) -> Tensor:
        """Compute the outputs of the auxiliary head on the policy tower, without a state.

        Parameters
        ----------
        obs : Tensor, shape (n, ...)

        Returns
        -------
        Tensor, shape (n, aux_head)
        """
        assert self.aux_head is not None
        return self.aux_head(self.policy_tower.layers(self._encode(obs)))

    def step(
        self, obs: Tensor, *, state: Tensor, view: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute logits (n, A), values (n,) and the next state for one decision of n lanes.

        Parameters
        ----------
        obs : Tensor, shape (n, ...)
        state : Tensor of float32, shape (n, state_size)
            All zero without a cell; the caller resets it where episodes end.
        view : Tensor of uint8, shape (n, view_size), optional
            See :meth:`forward`.
        """
        if not self.is_recurrent:
            return *self(obs, view), state
        still = torch.zeros(1, obs.shape[0], dtype=torch.bool, device=obs.device)
        logits, value, state = self.unroll(obs.unsqueeze(0), state, still)
        return logits[0], value[0], state

    def unroll(self, obs: Tensor, state: Tensor, done: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute logits (L, S, A), values (L, S) and last states of S chunks of L decisions.

        Parameters
        ----------
        obs : Tensor, shape (L, S, ...)
        state : Tensor of float32, shape (S, state_size)
            At the start of each chunk.
        done : Tensor of bool, shape (L, S)
            Decisions that ended an episode: the state behind them is zero.
        """
        length, lanes = done.shape
        x = self._encode(obs.flatten(0, 1))
        towers = [self.policy_tower, *([self.value_tower] if self.value_tower else [])]
        latents, states = [], []
        for tower, start in zip(towers, state.chunk(len(towers), -1), strict=True):
            hidden = tower.layers(x).unflatten(0, (length, lanes))
            assert tower.cell is not None
            y, end = unroll(tower.cell, hidden, start, done)
            latents.append(y.flatten(0, 1))
            states.append(end)
        logits = self._logits(latents[0], x).unflatten(0, (length, lanes))
        values = self._values(latents[-1]).unflatten(0, (length, lanes))
        return logits, values, torch.cat(states, -1)

    def _encode(self, obs: Tensor) -> Tensor:
        x: Tensor = obs if self.encoder.as_is and obs.ndim == 2 else self.encoder(obs)
        return x if self.attention is None else self.attention(x)

    def _add_view(self, x: Tensor, view: Tensor | None) -> Tensor:
        """Append to the features what the value tower alone sees, if it does."""
        if not self.view_size:
            return x
        shown = x.new_zeros(len(x), self.view_size) if view is None else view.to(x.dtype)
        return torch.cat((x, shown), 1)

    def _values(self, latent: Tensor) -> Tensor:
        values: Tensor = self.value_head(latent)
        return values.squeeze(-1)

    def _logits(self, latent: Tensor, features: Tensor) -> Tensor:
        if not isinstance(self.policy_head, nn.Linear):
            scores: Tensor = self.policy_head(latent, features)
            return scores
        logits: Tensor = self.policy_head(latent)
        if self.num_heads == 1:
            return logits
        offset, length = self.parts.phase  # type: ignore[misc]
        phase = features[:, offset : offset + length].argmax(-1)
        choice = phase.view(-1, 1, 1).expand(-1, 1, self.num_actions)
        return logits.unflatten(1, (length, self.num_actions)).gather(1, choice).squeeze(1)


# -- observations that show rows of card slots, the hand first ------------------------------------


class CardAttention(nn.Module):
    """One round of attention between the cards an observation shows, then a mean of each row.

    Parameters
    ----------
    slots : tuple of (int, int, int)
        Offset, number and width of each row of slots; all rows have the same width. An empty slot
        is all zero and is neither looked at nor counted.
    width : int
        Numbers of a card's embedding, and of what a row adds to the observation.
    """

    def __init__(self, slots: tuple[tuple[int, int, int], ...], width: int) -> None:
        super().__init__()
        self.slots, self.width = slots, width
        self.size_out = width * len(slots)
        self.embed = nn.Linear(slots[0][2], width)
        self.where = nn.Parameter(torch.zeros(len(slots), width))
        self.qkv = nn.Linear(width, 3 * width)
        # The row of each slot; made once, since a forward pass that makes it waits for the device.
        row = torch.tensor([r for r, (_, number, _) in enumerate(slots) for _ in range(number)])
        self.row: Tensor
        self.register_buffer("row", row, persistent=False)

    def forward(self, obs: Tensor) -> Tensor:
        """Append a summary of each row of slots to the observation."""
        rows = [obs[:, o : o + k * w].unflatten(1, (k, w)) for o, k, w in self.slots]
        counts = [k for _, k, _ in self.slots]
        cards = torch.cat(rows, 1)
        there = cards.ne(0).any(-1)
        x = torch.tanh(self.embed(cards) + self.where[self.row])
        query, key, value = self.qkv(x).chunk(3, -1)
        score = query @ key.transpose(1, 2) / math.sqrt(self.width)
        score = score.float().masked_fill(~there.unsqueeze(1), -1e8)
        x = x + score.softmax(-1).to(value.dtype) @ value
        seen = there.unsqueeze(-1).to(x.dtype)
        parts = zip((x * seen).split(counts, 1), seen.split(counts, 1), strict=True)
        means = [row.sum(1) / count.sum(1).clamp(min=1.0) for row, count in parts]
        return torch.cat((obs.float(), *(mean.float() for mean in means)), 1)


class CardHead(nn.Module):
    """Scores of actions; those of actions that play a card depend on the card.

    To the logit of action k, where there is a card in slot k of the hand, is added::

        Linear(relu(Linear(output of the hidden layers) + Linear(card)))

    So what is learnt of a card in one slot is known of it in every other.

    Parameters
    ----------
    hand : (int, int, int)
        Offset, number and width of the slots of the hand; as many first actions play them.
    size_in : int
        Outputs of the hidden layers before it.
    num_actions : int

    Attributes
    ----------
    out : Linear
        From the hidden layers to the logits that know nothing of slots.
    """

    def __init__(self, hand: tuple[int, int, int], size_in: int, num_actions: int) -> None:
        super().__init__()
        self._offset, self._number, self._width = hand
        self.whole = nn.Linear(size_in, CARD_WIDTH)
        self.card = nn.Linear(self._width, CARD_WIDTH, bias=False)
        self.score = nn.Linear(CARD_WIDTH, 1, bias=False)
        self.out = nn.Linear(size_in, num_actions)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits, shape (n, num_actions)."""
        hand = features[:, self._offset : self._offset + self._number * self._width]
        cards = hand.unflatten(1, (self._number, self._width))
        hidden = torch.relu(self.whole(latent).unsqueeze(1) + self.card(cards))
        scores = self.score(hidden).squeeze(-1) * cards.ne(0).any(-1)
        logits: Tensor = self.out(latent)
        return torch.cat((logits[:, : self._number] + scores, logits[:, self._number :]), 1)


# -- playing ---------------------------------------------------------------------------------------


def load_net(
    ppo: HiddenConfig, native: ActorCriticConfig, layout: ObsLayout, parameters: Mapping[str, Any]
) -> ActorCritic:
    """Load a trained network.

    Parameters
    ----------
    ppo : HiddenConfig
    native : ActorCriticConfig
        What it was trained with.
    layout : ObsLayout
        Of the environment it was trained on.
    parameters : mapping
        As saved in a checkpoint. Those of the values may be left out, as
        ``python -m training export`` does; the network then plays, and its values mean nothing.

    Raises
    ------
    RuntimeError
        They are those of another network.
    """
    net = ActorCritic(layout, ppo, native)
    values = {k: v for k, v in net.state_dict().items() if k.startswith("value_")}
    net.load_state_dict({**values, **parameters})
    return net


def make_player(net: Any) -> Logits | RecurrentLogits:
    """Wrap a network of any trainer as a function from observations (k, ...) to logits (k, A).

    One with a state takes and returns its states too: see :class:`RecurrentLogits`.
    """
    return RecurrentLogits(net) if getattr(net, "state_size", 0) else make_logits(net)


class RecurrentNet(Protocol):
    """A network with a state; see :meth:`ActorCritic.step`."""

    state_size: int

    def step(self, obs: Tensor, *, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute scores of actions (n, A), values (n,) and the next state."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return its parameters."""


class FeedForwardNet(Protocol):
    """A network without a state that scores actions, the best one highest."""

    def logits(self, obs: Tensor) -> Tensor:
        """Compute a score for each action, shape (n, A)."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Return its parameters."""


def make_logits(net: FeedForwardNet) -> Logits:
    """Wrap a network without a state as a function from observations to logits."""
    device = next(net.parameters()).device

    def logits(obs: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return net.logits(as_tensor(obs).to(device)).float().cpu().numpy()

    return logits


class RecurrentLogits:
    """A network with a state as a function; the caller keeps the states.

    Parameters
    ----------
    net : ActorCritic, or another module with ``state_size`` and ``step``

    Attributes
    ----------
    state_size : int
        Numbers of a lane's state, all zero where an episode begins.
    """

    def __init__(self, net: RecurrentNet) -> None:
        self._net, self.state_size = net, net.state_size

    def __call__(self, obs: np.ndarray, *, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute logits and the states behind the decisions.

        Parameters
        ----------
        obs : ndarray, shape (k, ...)
        state : ndarray of float32, shape (k, state_size)

        Returns
        -------
        ndarray of float32, shape (k, A)
        ndarray of float32, shape (k, state_size)
        """
        device = next(self._net.parameters()).device
        with torch.inference_mode():
            before = torch.from_numpy(state).to(device)
            out, _, after = self._net.step(as_tensor(obs).to(device), state=before)
            return out.float().cpu().numpy(), after.float().cpu().numpy()
