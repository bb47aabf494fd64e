"""What some tests need and some machines lack: these marks skip them there, and say what to do.

On a machine without a C compiler there is no compiled core, and the other tests run on Numba. Tests
with a parameter ``backend`` that stands for compiled code are marked by ``tests/conftest.py``.
"""

import os
import shutil
import subprocess
import sysconfig

import pytest

import fastenv
from fastenv.verify import available

_WHY = [
    reason
    for env in ("SkullKingFlat-v0", "Prospector-v0")
    for reason in available(fastenv.make_game(env)).values()
    if reason is not None
]
HAS_CORE = not _WHY
FASTEST = "fast" if HAS_CORE else "numba"  # of the backends that work here
needs_core = pytest.mark.skipif(
    not HAS_CORE, reason="needs the compiled core: " + "".join(_WHY[:1])
)
needs_speed = pytest.mark.skipif(not HAS_CORE, reason="takes minutes without the compiled core")

COMPILER = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]


def _compiles() -> bool:
    """Return whether the compiler is there and works: some machines have one that does not."""
    if shutil.which(COMPILER) is None:
        return False
    asked = [COMPILER, "-x", "c", "-fsyntax-only", "-"]
    return subprocess.run(asked, input=b"int x;", capture_output=True, check=False).returncode == 0


needs_compiler = pytest.mark.skipif(
    not _compiles(), reason=f"needs a C compiler, and {COMPILER} is none that works"
)
