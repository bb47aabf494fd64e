"""Compare the kernels, run as plain Python (``NUMBA_DISABLE_JIT=1``), with the encoding.

So a debugger and a coverage tool can follow them. Numba widens small integers and adds flags as
numbers where NumPy does neither; here rows are namespaces of Python's own numbers, and the row of
an output is its array. A float may be off by a unit in the last place, for NumPy multiplies a
float32 and a literal in float32.
"""

from types import SimpleNamespace

import numba
import numpy as np

from fastenv.skullking import kernels
from fastenv.skullking.state import TABLES
from tests.skullking import test_kernels as cases


def widen(record):
    values = ((name, record[name]) for name in record.dtype.names)
    return SimpleNamespace(**{k: v.astype(object) if v.ndim else v.item() for k, v in values})


class Records:
    def __init__(self, records):
        self.rows = [widen(record) for record in records]
        self.shape = (len(self.rows),)

    def __getitem__(self, i):
        return self.rows[i]


def by_plain_kernels(rows, rules):
    """The twin of ``cases.by_numba``."""
    out, select = cases.Columns(len(rows), int(rules["obs_dim"][0])), np.ones(len(rows), np.uint8)
    after, records, tables = rows.copy(), Records(rows), Records(TABLES)
    rule = Records(rules)
    observe, reward = kernels._many(int(rules["tier"][0]))
    observe(records, rule, tables, select, out.obs, out.mask)
    kernels._info_many(records, rule, select, out.info)
    reward(records, rule, tables, select, out.reward, out.columns)
    for name in ("ep_return", "ep_length"):
        after[name] = [getattr(row, name) for row in records.rows]
    return out, after


def main():
    assert numba.config.DISABLE_JIT
    kernels._obs_row = lambda a, i: SimpleNamespace(obs=a[i], bits=a[i].view(np.int32))
    kernels._mask_row = lambda a, i: SimpleNamespace(legal=a[i])
    kernels._reward_row = lambda a, i: SimpleNamespace(rewards=a[i])
    kernels._info_row = lambda a, i: SimpleNamespace(info=a[i])
    for tier in cases.TIERS:
        for variant in cases.VARIANTS:
            config, rows = cases.config_of(tier, variant), cases.played_rows(tier, variant, 40)
            rules, knobs = config.rules_record(), config.default_knobs(1)
            expected, expected_rows = cases.by_python(rows, rules, knobs)
            got, got_rows = by_plain_kernels(rows, rules)
            where = f"{tier}, {variant}: "
            for name, array in vars(expected).items():
                if array.dtype == np.float32:
                    np.testing.assert_array_max_ulp(getattr(got, name), array, maxulp=1)
                else:
                    np.testing.assert_array_equal(getattr(got, name), array, where + name)
            close = np.allclose(got_rows["ep_return"], expected_rows["ep_return"], rtol=1e-6)
            assert close, where + "ep_return"
            assert (got_rows["ep_length"] == expected_rows["ep_length"]).all(), where
    print("same")


if __name__ == "__main__":
    main()
