"""How positions of Dr. Mario are searched."""

from __future__ import annotations

from training.search.rules import SearchRules

SEARCH = SearchRules(rollouts="greedy")
