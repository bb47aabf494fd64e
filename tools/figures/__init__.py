"""Tables of figures of all pages, from the records in ``benchmarks/`` (docs/figures.py)."""
