"""What tests of the Game Boy share."""

import pytest

from tests.gameboy.lanes import BACKENDS, FIRST
from tests.slow import late


@pytest.fixture(scope="session", params=[FIRST, *late(BACKENDS)], ids=len)
def backends(request):
    """Return the names of backends that are compared, the reference first; all when slow."""
    return request.param
