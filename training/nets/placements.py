"""A policy head for actions that each fill two cells of a board: every one is scored alike.

::

    score = MLP(found at the cell of the first half, found at that of the second,
                what the hidden layers make of the whole observation, cost)

The first layer of that MLP is linear in each of its inputs, so it is computed once a cell, not once
an action, and then looked up.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from training.nets.encoders import Encoder
from training.run.games import Placements

WIDTH = 32  # hidden units of a score


class PlacementHead(nn.Module):
    """Scores of placements.

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
    """

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
        score = self.first(found)[:, self.cells[0]] + self.second(found)[:, self.cells[1]]
        score = score + self.whole(latent).unsqueeze(1)
        if self.cost is not None:
            score = score + self.cost(features[:, self._costs].unsqueeze(2))
        logits: Tensor = self.out(self.hidden(score.relu()).relu())
        return logits.squeeze(2)
