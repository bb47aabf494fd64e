"""Resolve what docstrings refer to, as ``:class:`Name```, where Sphinx does not find it.

Docstrings name things as their module knows them. What is documented under another name is linked,
and what exists but has no page is shown as text. A name of nothing stays an error.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import fastenv

PUBLIC = {id(getattr(fastenv, name)): f"fastenv.{name}" for name in fastenv.__all__}
NOTHING = object()
# A star that is no emphasis: shapes such as (n, *obs_shape), and pointers of C. A parameter begins
# its line, and numpydoc takes care of it.
STAR = re.compile(r"(?<=[\w,(] )\*(?=\w)|(?<=\()\*(?=\w)")


def resolve(app: Any, env: Any, node: Any, text: Any) -> Any:
    """Return the link, or the text, of a reference that Sphinx did not resolve; None if neither."""
    if node.get("refdomain") != "py":
        return None
    domain, target = env.domains["py"], node["reftarget"]
    for name in candidates(node, target):
        found = find(name)
        if found is NOTHING:
            continue
        for documented in (name, *names_of(found)):
            if documented in domain.objects:
                place, anchor = domain.objects[documented][:2]
                return link(app, node["refdoc"], place, anchor, text)
        return text
    ends = [name for name in domain.objects if name.endswith(f".{target}")]
    if len(ends) == 1:  # imported for types alone
        place, anchor = domain.objects[ends[0]][:2]
        return link(app, node["refdoc"], place, anchor, text)
    return None


def candidates(node: Any, target: str) -> Iterator[str]:
    """Yield the full names that a target may stand for: from the class outwards."""
    at = re.search(
        r"docstring of ([\w.]+)", node.source or getattr(node.parent, "source", "") or ""
    )
    places = [at.group(1)] if at else []
    module, owner = node.get("py:module"), node.get("py:class")
    places += [f"{module}.{owner}"] if module and owner else []
    places += [module] if module else []
    for place in places:
        while place:
            yield f"{place}.{target}"
            place = place.rpartition(".")[0]
    yield target


def find(name: str) -> Any:
    """Return the object of a full name, or NOTHING."""
    module, rest = name, list[str]()
    while module:
        try:
            found: Any = importlib.import_module(module)
            break
        except ImportError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
    else:
        return NOTHING
    for part in rest:
        fields = getattr(found, "__annotations__", {})
        found = getattr(found, part, None if part in fields else NOTHING)
        if found is NOTHING:
            return NOTHING
    return found


def names_of(found: Any) -> Iterator[str]:
    """Yield the names under which an object may have its place."""
    if id(found) in PUBLIC:
        yield PUBLIC[id(found)]
    if hasattr(found, "__qualname__"):
        name = f"{found.__module__}.{found.__qualname__}"
        yield name
        owner, _, last = name.rpartition(".")
        whole = find(owner)
        if id(whole) in PUBLIC:
            yield f"{PUBLIC[id(whole)]}.{last}"


def link(app: Any, page: str, place: str, anchor: str, text: Any) -> Any:
    """Return a link from a page to an anchor of another."""
    from sphinx.util.nodes import make_refnode

    return make_refnode(app.builder, page, place, anchor, text)


def skip(_app: Any, kind: str, _name: str, member: Any, skipped: bool, _options: Any) -> bool:
    """Leave out fields of named tuples, and in modules what has a page as a name of fastenv."""
    if (getattr(member, "__doc__", None) or "").startswith("Alias for field number"):
        return True
    return skipped or (kind == "module" and id(member) in PUBLIC)


def escape_stars(_app: Any, _kind: str, _name: str, _found: Any, _options: Any, lines: Any) -> None:
    """Let reStructuredText see stars that are no emphasis as stars."""
    lines[:] = [
        "``".join(STAR.sub(r"\\*", part) if k % 2 == 0 else part for k, part in enumerate(parts))
        for parts in (line.split("``") for line in lines)
    ]


def setup(app: Any) -> dict[str, Any]:
    """Connect the above, as an extension of Sphinx."""
    app.connect("missing-reference", resolve)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-docstring", escape_stars, priority=400)  # numpydoc has 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
