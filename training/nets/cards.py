"""Parts of a network for observations that show rows of card slots, the hand first."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

WIDTH = 32  # hidden units of a card's score


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
        self.whole = nn.Linear(size_in, WIDTH)
        self.card = nn.Linear(self._width, WIDTH, bias=False)
        self.score = nn.Linear(WIDTH, 1, bias=False)
        self.out = nn.Linear(size_in, num_actions)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits, shape (n, num_actions)."""
        hand = features[:, self._offset : self._offset + self._number * self._width]
        cards = hand.unflatten(1, (self._number, self._width))
        hidden = torch.relu(self.whole(latent).unsqueeze(1) + self.card(cards))
        scores = self.score(hidden).squeeze(-1) * cards.ne(0).any(-1)
        logits: Tensor = self.out(latent)
        return torch.cat((logits[:, : self._number] + scores, logits[:, self._number :]), 1)
