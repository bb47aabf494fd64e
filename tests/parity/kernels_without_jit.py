"""Compare the kernels, run as plain Python (``NUMBA_DISABLE_JIT=1``), with the encoding.

So a debugger and a coverage tool can follow them. Numba widens small integers and adds flags as
numbers where NumPy does neither; here rows are namespaces of Python's own numbers, and the row of
an output is its array. A float may be off by a unit in the last place, for NumPy multiplies a
float32 and a literal in float32.
"""

from types import SimpleNamespace

import numpy as np

from fastenv.skullking import kernels
from tests.rowcalls import Encoded, by_reference, without_compiler
from tests.skullking import test_kernels as cases


def widen(record):
    """Return a record as a namespace of Python's own numbers and arrays of them."""
    fields = {}
    for name in record.dtype.names:
        value = record[name]
        if value.dtype.names is not None:
            fields[name] = widen(value)
        elif value.dtype == np.uint64:
            fields[name] = value  # NumPy 1 makes floats of Python's integers beside these
        else:
            fields[name] = value.astype(object) if value.ndim else value.item()
    return SimpleNamespace(**fields)


def by_plain_kernels(game, rows):
    """The twin of ``by_kernels``."""
    out, shared = Encoded(game.spec, len(rows)), [widen(game.shared[0])]
    observe, reward, info = kernels._cfuncs(int(game.rules["tier"][0]))
    infos = out.info.view(np.int32).reshape(len(rows), -1)
    terms = out.terms.view(np.float32).reshape(len(rows), -1)
    for i in range(len(rows)):
        row = ([widen(rows[i])], None, shared)
        obs = SimpleNamespace(obs=out.obs[i], bits=out.obs[i].view(np.int32))
        observe(*row, [obs], [SimpleNamespace(legal=out.mask[i])])
        info(*row, [SimpleNamespace(info=infos[i])])
        columns = [SimpleNamespace(rewards=terms[i])]
        out.counted[i] = reward(*row, out.reward[i : i + 1], columns)
    return out


def main():
    without_compiler(kernels)
    for tier in cases.TIERS:
        for variant in cases.VARIANTS:
            game, rows = cases.game_of(tier, variant), cases.played_rows(tier, variant, 40)
            expected, got = by_reference(game, rows), by_plain_kernels(game, rows)
            for (name, ours), (_, theirs) in zip(got.numbers(), expected.numbers(), strict=True):
                where = f"{tier}, {variant}: {name}"
                if theirs.dtype == np.float32:
                    np.testing.assert_array_max_ulp(ours, theirs, maxulp=1)
                else:
                    np.testing.assert_array_equal(ours, theirs, where)
    print("same")


if __name__ == "__main__":
    main()
