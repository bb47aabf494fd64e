"""Changes of behaviour that the tests must notice: ``python -m tools.mutants``."""
