"""The walk as an environment id: a game that ``training`` has never been told of."""

from fastenv import registry
from tests.toy import WalkGame

ENV = "Walk-v0"


def make_game(**options):
    return WalkGame(**options)


def register():
    """Make the id known to this process, and to no part of ``training``."""
    registry.ENVS = {**registry.ENVS, ENV: (__name__, {})}


def unregister():
    registry.ENVS = {name: home for name, home in registry.ENVS.items() if name != ENV}
