"""What is measured of speed beside the package: a module a suite, and the records of their figures.

``python -m training benchmark --only SUITE`` measures a suite, and ``targets.toml`` says what is
asked of its rows. A suite has functions that measure rows, and names them in a ``SUITE``, a
:class:`training.bench.runner.Suite`.
"""
