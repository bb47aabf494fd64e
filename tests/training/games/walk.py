"""The walk as an environment id: a game that ``training`` has never been told of."""

import sys

from fastenv import registry
from tests.toy import WalkGame

ENV = "Walk-v0"


class Walk(WalkGame):
    """The walk without its bots."""

    bot_names = ()


def make_game(**options):
    return Walk(**options)


def register():
    """Make the id known to this process, and to no part of ``training``."""
    registry.register_game(lambda: sys.modules[__name__], {ENV: {}})


def unregister():
    registry.ENVS.pop(ENV, None)
