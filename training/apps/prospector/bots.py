"""The scripted players of Prospector: bots and reference lines."""

from __future__ import annotations

from fastenv.prospector.bots import Bot

# What play is measured against: cashing out above all.
REFERENCE_LINES = ("cash_out", "hold", "masked_random", "random")
BOTS = tuple(bot.name.lower() for bot in Bot if bot.name.lower() not in REFERENCE_LINES)
