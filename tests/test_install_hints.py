"""What pages and messages tell people to install is ours.

The name ``fastenv`` on PyPI belongs to another project, so a hint with it installs a stranger's
package. The distribution is ``fastenv-rl``; where the checkout is meant, it is ``.``.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOLDERS = ("fastenv", "training", "tools", "docs", "notebooks", "pretrained")
KINDS = {".py", ".md", ".ipynb", ".toml"}
# a requirement with extras, and a bare name behind `pip install`
EXTRAS = re.compile(r"(?<![\w.-])(fastenv(?:-rl)?|\.)\[([a-z0-9, ]+)\](?=['\"` ])")
FOREIGN = re.compile(r"pip install ['\"]?fastenv(?![\w-])")


def hints():
    """Yield the path of each page and module, and its text."""
    paths = [*ROOT.glob("*"), *(path for name in FOLDERS for path in (ROOT / name).rglob("*"))]
    for path in paths:
        if path.suffix in KINDS:
            yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def test_hints_name_our_distribution_and_extras_that_exist():
    assert PROJECT["name"] == "fastenv-rl"
    found = 0
    for path, text in hints():
        assert not FOREIGN.search(text), f"{path} installs somebody else's package"
        for name, extras in EXTRAS.findall(text):
            found += 1
            assert name != "fastenv", f"{path}: fastenv[{extras}] is somebody else's package"
            missing = set(extras.replace(" ", "").split(",")) - set(
                PROJECT["optional-dependencies"]
            )
            assert not missing, f"{path}: no such extras: {missing}"
    assert found > 20
