"""The version, on its own so that the build can read it without importing the package.

>>> import fastenv
>>> len(fastenv.__version__.split("."))
3
"""

__version__ = "0.1.0"
