"""References of docstrings and signatures lead to the public name of what a private module defines."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from docutils import nodes
from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

KINDS = ("class", "exception", "function", "method", "property", "data", "module")


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: Element) -> Element | None:
    """Link `Name`, `Class.name` or `some.module.Name` to what is documented under that name.

    What is in the code but not in this reference stays plain; None, a warning, where there is no such thing.
    """
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    documented = {
        key: entry
        for key, entry in env.domains["py"].objects.items()
        if entry.objtype in KINDS and (f".{key}".endswith(f".{target}") or same_object(key, target))
    }
    if len(documented) == 1:
        ((key, entry),) = documented.items()
        uri = app.builder.get_relative_uri(node["refdoc"], entry.docname)
        return nodes.reference("", "", contnode, internal=True, reftitle=key, refuri=f"{uri}#{entry.node_id}")
    if documented or node.get("reftype") == "class" or find(target) is not None:
        return contnode  # a type of another library, an alias, or a private place in the code
    return None


def same_object(key: str, target: str) -> bool:
    """Tell whether a documented name and a full name of the code are the same class or function."""
    if not target.startswith("sarrus.") or key.rpartition(".")[2] != target.rpartition(".")[2]:
        return False
    return find(key) is find(target)


@cache
def find(target: str) -> Any:
    """Return what a name of the code stands for, with or without ``sarrus.`` in front, or None."""
    for name in (target.replace("sr.", "sarrus.", 1), f"sarrus.{target}"):
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found: Any = importlib.import_module(".".join(parts[:cut]))
            except ImportError:
                continue
            for part in parts[cut:]:
                found = getattr(found, part, None)
            if found is not None:
                return found
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
