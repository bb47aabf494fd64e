"""Dr. Mario for two where every frame is a decision."""

from __future__ import annotations

from training.games.drmario.versus import DrMarioMatches


class DrMarioFrameMatches(DrMarioMatches):
    """The other scripted players choose placements: they are refused here."""

    bots = ("random",)


GAME = DrMarioFrameMatches()
