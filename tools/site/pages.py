"""Lay the pages of the repository out for Sphinx, with links that hold there.

Sphinx reads one folder. The site has the folders of ``docs/`` at its root, and beside them the
pages that lie elsewhere: those of the repository's root, the notebooks and the model cards. So
links are written anew, and those to files that are no pages lead to the repository's URL. Where
there is none, they become text.

Two long pages are cut at their headings of the second level: each section has a page on the site,
and links to a heading lead to the page that has it. The repository keeps one file.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("*.md", "docs/**/*.md", "docs/**/*.rst", "notebooks/*.ipynb", "pretrained/*/README.md")
PICTURES = tuple(f"docs/**/*.{kind}" for kind in ("gif", "jpg", "mp4", "png", "svg", "webp"))
CUT = (PurePosixPath("RUNS.md"), PurePosixPath("docs/gameboy.md"))  # into a page a section
OWN_OF_SPHINX = ("docs/_static/", "docs/_templates/")  # read where they are

# Code is shown as it is, whatever it looks like: blocks first, then what stands in a line.
CODE = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$|(`+)(?!`).+?(?<!`)\2(?!`)", re.DOTALL | re.MULTILINE)
LINK = re.compile(
    r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\](?:\([^()]*\))?)*)\]\(([^()\s]+)((?: +\"[^\"]*\")?)\)"
)
ATTRIBUTE = re.compile(r'(?<=\s)(src|href)="([^"]+)"')
ELSEWHERE = re.compile(r"[a-z][a-z+.-]*:|#|//")  # another site, or this very page
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


def files(patterns: tuple[str, ...]) -> Iterator[PurePosixPath]:
    """Yield the files that patterns name, from the root of the repository on."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            found = PurePosixPath(path.relative_to(ROOT).as_posix())
            if not found.as_posix().startswith(OWN_OF_SPHINX):
                yield found


def placed(path: PurePosixPath) -> PurePosixPath:
    """Return where a file of the repository lies on the site."""
    return PurePosixPath(*path.parts[1:]) if path.parts[0] == "docs" else path


def part_of(page: PurePosixPath, anchor: str) -> PurePosixPath:
    """Return where a section of a page that is cut lies on the site."""
    return placed(page).with_stem(f"{page.stem}-{anchor}")


def without_code(text: str) -> tuple[str, list[str]]:
    """Return Markdown with a mark in place of each piece of code, and the pieces."""
    kept: list[str] = []

    def put_away(code: re.Match[str]) -> str:
        kept.append(code.group())
        return f"\0{len(kept) - 1}\0"

    return CODE.sub(put_away, text), kept


def with_code(text: str, kept: list[str]) -> str:
    """Return Markdown with its code back in place; see :func:`without_code`."""
    return re.sub(r"\0(\d+)\0", lambda mark: kept[int(mark[1])], text)


def with_one_title(text: str) -> str:
    """Return a page under its first heading: of one with several titles they are parts of it."""
    text, kept = without_code(text)
    if len(re.findall(r"^# ", text, re.MULTILINE)) > 1:
        first = text.index("\n", text.index("# "))
        text = text[:first] + re.sub(r"^#", "##", text[first:], flags=re.MULTILINE)
    return with_code(text, kept)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading, as GitHub and MyST make it."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def sections(text: str) -> tuple[str, dict[str, str]]:
    """Split a page into the text before its first section and the sections by their anchors.

    Headings of a section are one level higher than on the page.
    """
    text, kept = without_code(text)
    before, *parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    headings = [with_code(HEADING.findall(part)[0], kept) for part in parts]
    raised = [with_code(re.sub(r"^#", "", part, flags=re.MULTILINE), kept) for part in parts]
    return with_code(before, kept), dict(zip(map(anchor_of, headings), raised, strict=True))


class Site:
    """Which files the site has, and where links to others lead.

    Parameters
    ----------
    url : str
        What stands before the path of a file of the repository, such as
        ``https://host/project/blob/main``; empty if there is no such place.
    """

    def __init__(self, url: str = "") -> None:
        self.url = url.rstrip("/")
        self.pages = set(files(PAGES))
        self.files = self.pages | set(files(PICTURES))
        self.parts = {page: dict(self.anchors_of_parts(page)) for page in CUT}

    @staticmethod
    def anchors_of_parts(page: PurePosixPath) -> Iterator[tuple[str, PurePosixPath]]:
        """Yield the anchors of a page that is cut, each with the page of the site that has it."""
        _, found = sections((ROOT / page).read_text(encoding="utf-8"))
        for name, text in found.items():
            text, kept = without_code(text)
            for heading in HEADING.findall(text):
                yield anchor_of(with_code(heading, kept)), part_of(page, name)

    def target(self, link: str, page: PurePosixPath) -> str | None:
        """Return the new target of a link of a page, or None if it leads nowhere on the web.

        A link to what does not exist stays as it is: the build finds it.
        """
        path, hash_sign, anchor = link.partition("#")
        cut = page if not path else PurePosixPath(os.path.normpath(page.parent / path))
        if anchor in self.parts.get(cut, ()):
            link = os.path.relpath(self.parts[cut][anchor], placed(page).parent)
            return f"{link}#{anchor}"
        if ELSEWHERE.match(link):
            return link
        found = PurePosixPath(os.path.normpath(page.parent / path))
        for wanted in (found, found / "README.md"):
            if wanted in self.files:
                return os.path.relpath(placed(wanted), placed(page).parent) + hash_sign + anchor
        if found.parts[0] == ".." or not (ROOT / found).exists():
            return link
        return f"{self.url}/{found}{hash_sign}{anchor}" if self.url else None

    def linked(self, text: str, page: PurePosixPath) -> str:
        """Return Markdown of a page with the links that it has on the site."""
        text, kept = without_code(text)

        def of_link(found: re.Match[str]) -> str:
            mark, inner, link, title = found.groups()
            inner = LINK.sub(of_link, inner)  # a picture that is a link
            target = self.target(link, page)
            if target is not None:
                return f"{mark}[{inner}]({target}{title})"
            path = os.path.normpath(page.parent / link.partition("#")[0])
            return inner if path in with_code(inner, kept) else f"{inner} (`{path}`)"

        def of_attribute(found: re.Match[str]) -> str:
            return f'{found[1]}="{self.target(found[2], page) or found[2]}"'

        return with_code(ATTRIBUTE.sub(of_attribute, LINK.sub(of_link, text)), kept)

    def page(self, text: str, page: PurePosixPath) -> str:
        """Return a page in Markdown as it stands on the site."""
        text = with_one_title(FRONT_MATTER.sub("", text))
        return self.with_contents(self.linked(text, page), page)

    def cut(self, text: str, page: PurePosixPath) -> dict[PurePosixPath, str]:
        """Return the pages of the site that a long page becomes: its beginning, and its sections.

        The text has the links of the site already.
        """
        before, found = sections(text)
        names = "\n".join(part_of(page, name).stem for name in found)
        contents = f"```{{toctree}}\n:maxdepth: 2\n\n{names}\n```\n"
        made = {part_of(page, name): part for name, part in found.items()}
        return {placed(page): f"{before}{contents}", **made}

    def with_contents(self, text: str, page: PurePosixPath) -> str:
        """Return a page whose lists of contents have what there is.

        A pattern that nothing matches is left out, and ``(others)`` becomes the pages of the folder
        that stand nowhere else on the page. So a new page is found, and yet there is an order.
        """
        if "\n(others)\n" not in text:
            return text
        folder = placed(page).parent
        names = {placed(each).with_suffix("").as_posix() for each in self.pages}

        def found(line: str) -> set[str]:
            whole = os.path.normpath(folder / line) if line[:1] != "/" else line[1:]
            return {name for name in names if fnmatch(name, whole)}

        lines = text.split("\n")
        lines = [line for line in lines if "*" not in line or found(line) or " " in line]
        rest = found("*") - {placed(page).with_suffix("").as_posix()}
        rest = {name for name in rest if PurePosixPath(name).parent == folder}
        for line in lines:
            rest -= found(line)
        at = lines.index("(others)")
        lines[at : at + 1] = [PurePosixPath(name).name for name in sorted(rest)]
        return "\n".join(lines)

    def notebook(self, text: str, page: PurePosixPath) -> str:
        """Return a notebook whose text cells have the links of the site."""
        whole = json.loads(text)
        for cell in whole["cells"]:
            if cell["cell_type"] == "markdown":
                cell["source"] = self.linked("".join(cell["source"]), page)
        return json.dumps(whole)

    def lay_out(self, folder: Path) -> None:
        """Write what Sphinx reads into a folder."""
        readers: dict[str, Callable[[str, PurePosixPath], str]] = {
            ".md": self.page,
            ".ipynb": self.notebook,
        }
        for path in sorted(self.files):
            to = folder / placed(path)
            to.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix in readers:
                text = readers[path.suffix]((ROOT / path).read_text(encoding="utf-8"), path)
                made = self.cut(text, path) if path in CUT else {placed(path): text}
                for name, part in made.items():
                    (folder / name).write_text(part, encoding="utf-8")
            else:
                shutil.copyfile(ROOT / path, to)
