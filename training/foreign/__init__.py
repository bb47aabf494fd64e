"""Environments of Gymnasium and PettingZoo as games: the adapter that lets any of them be trained.

A foreign environment becomes a :class:`fastenv.Game` whose lanes are live objects, so engines,
trainers, evaluations and policies need not know which they have. What it cannot do, such as rows
that continue an episode, worlds and search, is refused by the place that asks for it.
"""
