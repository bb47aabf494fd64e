"""Search: simulate many futures before a decision, on the rows of the engine.

A position is a row of bytes. A :class:`Searcher` draws worlds of it that its player cannot tell
apart, plays every legal action on in all of them, and takes the one that came out best on the mean
(``docs/explanation/search.md``).
"""
