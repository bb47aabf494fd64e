"""The rules of search in Dr. Mario."""

from __future__ import annotations

from training.search.rules import SearchRules

SEARCH = SearchRules(rollouts="greedy")
