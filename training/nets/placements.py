"""Policy heads for actions that each fill two cells of a board.

``placements`` scores each action by the features of its two cells::

    score = MLP(features of the cell of the first half, of that of the second, which action,
                output of the hidden layers, cost)

The first layer of that MLP is linear in each of its inputs. Where all actions are scored it is
computed once a cell, not once an action, and then looked up. The others score all actions, by
orientation and cell of the first half, as planes (:class:`PlaneHead`)::

    map              Linear(hidden units of the cell)[orientation]
    shift_and_score  Linear(hidden units of both cells: the planes of the second are shifted)
    factorised       score of the cell + score of column and orientation, from the hidden layers
    cell_attention   as map, behind a round of attention between all cells

Where ``map`` looks at the first cell alone, the convolutions must have seen the one beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.nets.encoders import Encoder
from training.nets.layout import Placements

WIDTH = 32  # hidden units of a score
ATTENTION_HEADS = 2


class BoardHead(nn.Module):
    """Scores of placements from the features that convolutions find on a board.

    Parameters
    ----------
    placements : Placements
    encoder : Encoder
        Has convolutions over the board.

    Attributes
    ----------
    out : Linear
        The last layer, whose outputs are logits.
    channels : int
        Features of a cell.
    num_cells : int
    """

    out: nn.Linear

    def __init__(self, placements: Placements, encoder: Encoder) -> None:
        super().__init__()
        self._board = board = encoder.places[placements.board]
        self._costs = None if placements.costs is None else encoder.places[placements.costs]
        self.num_cells = encoder.cells[placements.board]
        self.channels = (board.stop - board.start) // self.num_cells
        # A cell outside the board is the one behind the last, whose features are 0.
        cells = torch.tensor(placements.cells)
        self.cells: Tensor
        self.register_buffer("cells", cells.where(cells >= 0, self.num_cells).T, persistent=False)

    def found(self, features: Tensor) -> Tensor:
        """Return the features of the cells, shape (n, cells, channels)."""
        return features[:, self._board].unflatten(1, (-1, self.num_cells)).transpose(1, 2)

    def costs(self, features: Tensor) -> Tensor | None:
        """Return the costs of the actions, shape (n, A), if they are shown."""
        return None if self._costs is None else features[:, self._costs]


class PlacementHead(BoardHead):
    """Scores of placements.

    Where costs are shown, an action that cannot be taken has one below 0. Then, on a CPU, only the
    others are scored, which are a tenth of all; the rest get 0 and are masked anyway.

    Parameters
    ----------
    placements : Placements
    encoder : Encoder
        Has convolutions over the board.
    size_in : int
        Outputs of the hidden layers before it.

    Attributes
    ----------
    out : Linear
        From the hidden units of an action to its logit.
    may_choose : bool
        Whoever needs shapes that do not depend on the data (``vmap``) sets it to False.
    """

    may_choose = True

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder)
        self.first = nn.Linear(self.channels, WIDTH)
        self.second = nn.Linear(self.channels, WIDTH, bias=False)
        self.whole = nn.Linear(size_in, WIDTH, bias=False)
        self.cost = None if self._costs is None else nn.Linear(1, WIDTH, bias=False)
        self.which = nn.Parameter(torch.zeros(len(placements.cells), WIDTH))
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A).

        Parameters
        ----------
        latent : Tensor, shape (n, size_in)
        features : Tensor, shape (n, encoder.size_out)
        """
        padded = F.pad(self.found(features), (0, 0, 0, 1))
        whole = self.whole(latent)
        costs = self.costs(features)
        if costs is not None and self._may_choose(features):
            lanes, actions = torch.nonzero(costs >= 0, as_tuple=True)
            at, cells = lanes * (self.num_cells + 1), padded.flatten(0, 1)
            score = self.first(cells.index_select(0, at + self.cells[0][actions]))
            score = score + self.second(cells.index_select(0, at + self.cells[1][actions]))
            score = score + whole.index_select(0, lanes) + self.which.index_select(0, actions)
            logits = self._logits(score, costs[lanes, actions])
            return logits.new_zeros(costs.shape).index_put((lanes, actions), logits)
        first, second = self.first(padded), self.second(padded)
        score = first[:, self.cells[0]] + second[:, self.cells[1]] + whole.unsqueeze(1)
        return self._logits(score + self.which, costs)

    def _logits(self, score: Tensor, costs: Tensor | None) -> Tensor:
        if self.cost is not None and costs is not None:
            score = score + self.cost(costs.unsqueeze(-1))
        logits: Tensor = self.out(self.hidden(score.relu()).relu())
        return logits.squeeze(-1)

    def _may_choose(self, features: Tensor) -> bool:
        return self.may_choose and features.is_cpu and not torch.compiler.is_compiling()


class PlaneHead(BoardHead):
    """A plane of scores for each orientation; all actions are scored.

    Parameters
    ----------
    placements : Placements
        Numbered by orientation, then by the cell of the first half.
    encoder : Encoder
        Has convolutions over the board.
    size_in : int
        Outputs of the hidden layers before it.

    Attributes
    ----------
    orientations : int
    """

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder)
        self.orientations, rest = divmod(len(placements.cells), self.num_cells)
        firsts = [first for first, _ in placements.cells]
        assert rest == 0, "actions fill planes"
        in_order = [*range(self.num_cells)] * self.orientations
        assert firsts == in_order, "by orientation, then by cell"
        self.first = nn.Linear(self.channels, WIDTH)
        self.whole = nn.Linear(size_in, WIDTH, bias=False)
        self.where = nn.Parameter(torch.zeros(self.num_cells, WIDTH))

    def at_cells(self, latent: Tensor, cells: Tensor) -> Tensor:
        """Compute hidden units of each cell before they are rectified, shape (n, cells, WIDTH)."""
        hidden: Tensor = self.first(cells) + self.whole(latent).unsqueeze(1) + self.where
        return hidden


class MapHead(PlaneHead):
    """Scores an orientation by the features of the cell of the first half; see the module."""

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder, size_in)
        self.out = nn.Linear(WIDTH, self.orientations)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A) of ``latent`` (n, size_in) and ``features`` (n, size_out)."""
        logits: Tensor = self.out(self.at_cells(latent, self.found(features)).relu())
        return logits.transpose(1, 2).flatten(1)


class ShiftHead(PlaneHead):
    """Scores both cells: the planes of the second half are shifted onto those of the first."""

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder, size_in)
        self.second = nn.Linear(self.channels, WIDTH, bias=False)
        self.cost = None if self._costs is None else nn.Linear(1, WIDTH, bias=False)
        self.way = nn.Parameter(torch.zeros(self.orientations, 1, WIDTH))
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A) of ``latent`` (n, size_in) and ``features`` (n, size_out)."""
        cells, planes = self.found(features), (self.orientations, self.num_cells)
        second = F.pad(self.second(cells), (0, 0, 0, 1))
        shifted = second[:, self.cells[1]].unflatten(1, planes)
        hidden = self.at_cells(latent, cells).unsqueeze(1) + shifted + self.way
        costs = self.costs(features)
        if self.cost is not None and costs is not None:
            hidden = hidden + self.cost(costs.unflatten(1, planes).unsqueeze(-1))
        logits: Tensor = self.out(hidden.relu())
        return logits.flatten(1)


class FactorisedHead(PlaneHead):
    """Adds a score of the cell to one of column and orientation, whatever the row.

    The probability of a placement is then, among those that are possible, a product of where its
    first half lies and how the pill stands there.
    """

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder, size_in)
        self.columns = encoder.sides[placements.board][1]
        self.how = nn.Linear(size_in, WIDTH, bias=False)
        self.stands = nn.Parameter(torch.zeros(self.orientations, 1, self.columns, WIDTH))
        self.out = nn.Linear(2 * WIDTH, 1)  # of a cell, and of a column and an orientation

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A) of ``latent`` (n, size_in) and ``features`` (n, size_out)."""
        of_cell, of_column = self.out.weight.chunk(2, 1)
        cells = self.at_cells(latent, self.found(features)).relu()
        score = F.linear(cells, of_cell, self.out.bias).view(len(cells), 1, -1, self.columns)
        columns = (self.how(latent)[:, None, None, None] + self.stands).relu()
        return (score + F.linear(columns, of_column).squeeze(-1)).flatten(1)


class AttentionHead(PlaneHead):
    """Scores an orientation by a cell's features and, by attention, those of all cells."""

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__(placements, encoder, size_in)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.mixed = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, self.orientations)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A) of ``latent`` (n, size_in) and ``features`` (n, size_out)."""
        hidden = self.at_cells(latent, self.found(features)).relu()
        parts = self.qkv(hidden).unflatten(2, (3, ATTENTION_HEADS, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        score = (query @ key.mT).float() / math.sqrt(key.shape[-1])
        seen = (score.softmax(-1).to(value.dtype) @ value).transpose(1, 2).flatten(2)
        logits: Tensor = self.out((hidden + self.mixed(seen)).relu())
        return logits.transpose(1, 2).flatten(1)


HEADS: dict[str, Callable[[Placements, Encoder, int], BoardHead]] = {
    "placements": PlacementHead,
    "map": MapHead,
    "shift_and_score": ShiftHead,
    "factorised": FactorisedHead,
    "cell_attention": AttentionHead,
}
