"""Policy heads for actions that each fill two cells of a board.

``placements`` scores each action by what is found where it lies::

    score = MLP(found at the cell of the first half, found at that of the second, which action,
                what the hidden layers make of the whole observation, cost)

The first layer of that MLP is linear in each of its inputs, so it is computed once a cell, not once
an action, and then looked up. ``map`` has a plane of scores for each orientation instead, from what
is found at the cell of the first half alone, which must have seen the other cell beside it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from training.nets.encoders import Encoder
from training.run.games import Placements

WIDTH = 32  # hidden units of a score


class PlacementHead(nn.Module):
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
        super().__init__()
        cells = torch.tensor(placements.cells)
        board = encoder.places[placements.board]
        self.num_cells = num_cells = encoder.cells[placements.board]
        self._board = board
        self._costs = None if placements.costs is None else encoder.places[placements.costs]
        channels = (board.stop - board.start) // num_cells
        self.first, self.second = nn.Linear(channels, WIDTH), nn.Linear(channels, WIDTH, bias=False)
        self.whole = nn.Linear(size_in, WIDTH, bias=False)
        self.cost = None if self._costs is None else nn.Linear(1, WIDTH, bias=False)
        self.which = nn.Parameter(torch.zeros(len(cells), WIDTH))
        self.hidden = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 1)
        # A cell outside the board is the one behind the last, where nothing was found.
        self.cells: Tensor
        self.register_buffer("cells", cells.where(cells >= 0, num_cells).T, persistent=False)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A).

        Parameters
        ----------
        latent : Tensor, shape (n, size_in)
        features : Tensor, shape (n, encoder.size_out)
        """
        found = features[:, self._board].unflatten(1, (-1, self.num_cells)).transpose(1, 2)
        found = nn.functional.pad(found, (0, 0, 0, 1))
        first, second, whole = self.first(found), self.second(found), self.whole(latent)
        costs = None if self._costs is None else features[:, self._costs]
        if costs is not None and self._chooses(features):
            lanes, actions = torch.nonzero(costs >= 0, as_tuple=True)
            at = lanes * (self.num_cells + 1)
            score = first.flatten(0, 1).index_select(0, at + self.cells[0][actions])
            score = score + second.flatten(0, 1).index_select(0, at + self.cells[1][actions])
            score = score + whole.index_select(0, lanes) + self.which.index_select(0, actions)
            logits = self._logits(score, costs[lanes, actions])
            return logits.new_zeros(costs.shape).index_put((lanes, actions), logits)
        score = first[:, self.cells[0]] + second[:, self.cells[1]] + whole.unsqueeze(1)
        return self._logits(score + self.which, costs)

    def _logits(self, score: Tensor, costs: Tensor | None) -> Tensor:
        if self.cost is not None and costs is not None:
            score = score + self.cost(costs.unsqueeze(-1))
        logits: Tensor = self.out(self.hidden(score.relu()).relu())
        return logits.squeeze(-1)

    def _chooses(self, features: Tensor) -> bool:
        return self.may_choose and features.is_cpu and not torch.compiler.is_compiling()


class MapHead(nn.Module):
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
    out : Linear
        From the hidden units of a cell to its logits.
    """

    def __init__(self, placements: Placements, encoder: Encoder, size_in: int) -> None:
        super().__init__()
        self._board = board = encoder.places[placements.board]
        self.num_cells = num_cells = encoder.cells[placements.board]
        orientations, rest = divmod(len(placements.cells), num_cells)
        firsts = [first for first, _ in placements.cells]
        assert rest == 0, "actions fill planes"
        assert firsts == list(range(num_cells)) * orientations, "by orientation, then by cell"
        self.found = nn.Linear((board.stop - board.start) // num_cells, WIDTH)
        self.whole = nn.Linear(size_in, WIDTH, bias=False)
        self.where = nn.Parameter(torch.zeros(num_cells, WIDTH))
        self.out = nn.Linear(WIDTH, orientations)

    def forward(self, latent: Tensor, features: Tensor) -> Tensor:
        """Return the logits (n, A).

        Parameters
        ----------
        latent : Tensor, shape (n, size_in)
        features : Tensor, shape (n, encoder.size_out)
        """
        found = features[:, self._board].unflatten(1, (-1, self.num_cells)).transpose(1, 2)
        hidden = self.found(found) + self.whole(latent).unsqueeze(1) + self.where
        logits: Tensor = self.out(hidden.relu())
        return logits.transpose(1, 2).flatten(1)


HEADS: dict[str, type[PlacementHead | MapHead]] = {"placements": PlacementHead, "map": MapHead}
