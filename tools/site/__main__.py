"""Build the site into ``build/docs``: ``python -m tools.site``.

Nothing is downloaded, and a warning is an error. ``FASTENV_REPOSITORY_URL`` says where files of the
repository can be seen, as ``https://host/project/blob/main``; without it links to files that are
no pages become text.
"""

from __future__ import annotations

import os
import shutil
import sys

from sphinx.cmd.build import build_main

from tools.site import commands, history
from tools.site.outside import loaded_from_elsewhere
from tools.site.pages import ROOT, Site

SOURCE, TREES, OUT = (ROOT / "build" / name for name in ("docs-source", "docs-trees", "docs"))
STRICT = ("-W", "--keep-going", "-n", "-q")


def main() -> int:
    """Build the site, all of it each time; return the exit status."""
    for folder in (SOURCE, TREES, OUT):  # of pages that are as they were there are no warnings
        shutil.rmtree(folder, ignore_errors=True)
    Site(os.environ.get("FASTENV_REPOSITORY_URL", "")).lay_out(SOURCE)
    commands.write(SOURCE / "reference" / "cli")
    history.write(SOURCE / "explanation")
    places = ("-d", TREES, "-c", ROOT / "docs", SOURCE, OUT)
    status = build_main([*STRICT, "-j", "auto", *map(str, places)])
    for line in loaded_from_elsewhere(OUT):
        print(f"error: {line}", file=sys.stderr)
        status = 1
    if status == 0:
        print(f"{(OUT / 'index.html').relative_to(ROOT)}: {len([*OUT.rglob('*.html')])} pages")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
