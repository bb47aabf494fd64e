"""Dr. Mario: falling pills against viruses, frame for frame as the console plays it.

``docs/drmario.md`` is the rule book.
"""
