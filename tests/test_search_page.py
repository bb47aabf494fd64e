"""Every listing of docs/search.md runs as it stands."""

import re
from pathlib import Path

import pytest

from tests.needs import needs_torch

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
LISTINGS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
