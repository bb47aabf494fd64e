"""The pages of the repository."""

from __future__ import annotations

import re

from training.run.machine import ROOT

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "pretrained/*/README.md")
    for path in sorted(ROOT.glob(pattern))
    if not re.search(r"(?:^|/)(?:[._]|generated/)", path.relative_to(ROOT).as_posix())
}
