"""Writes the pages of the API reference from the table of routines (`ishmem.common.routines`) and the docstrings."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import ishmem
from ishmem.cli import c_map
from ishmem.common import constants
from ishmem.common.routines import CHAPTERS, GROUP, QUEUE, ROUTINES, Chapter, Routine

FOLDER = Path(__file__).parents[1] / "reference" / "chapters"
CONSTANTS: dict[str, tuple[tuple[str, str], ...]] = {
    "Set-up, exit and query": (("THREAD_", inspect.getdoc(constants.Thread) or ""),),
    "Memory": (("MALLOC_", inspect.getdoc(constants.Hint) or ""),),
    "Atomics": (("ORDER_", inspect.getdoc(constants.MemoryOrder) or ""),),
    "Signals": (("SIGNAL_", inspect.getdoc(constants.SignalOp) or ""),),
    "Waiting and testing": (("CMP_", inspect.getdoc(constants.Cmp) or ""),),
    "Teams": (("TEAM_", "The predefined teams, and the value that stands for no team (OpenSHMEM 1.5, 9.4)."),),
    "Contexts": (("CTX_", inspect.getdoc(constants.CtxOption) or ""),),
}
"""The constants of the chapters, by the beginnings of their names, each with a text."""

MEANINGS = {
    "TEAM_WORLD": "All PEs.",
    "TEAM_SHARED": "The PEs that share memory: those of this PE's node.",
    "TEAM_NODE": "The PEs of this PE's node.",
    "TEAM_INVALID": "No team: what a split gives PEs that are not in the new team.",
    "CTX_DEFAULT": "The context of the routines that take none.",
    "CTX_INVALID": "No context.",
}
"""Constants that are no numbers."""

CLASSES = {
    "Teams": ("Team", "TeamConfig"),
    "Contexts": ("Ctx", "CtxSession"),
    "Inference": ("inference.Communicator", "moe.Buffer", "moe.Handle"),
}
ERRORS = ("IshmemError", "StateError", "SymmetryError", "HeapExhausted", "PeerLost", "WaitTimeout", "LevelZeroError")


def routines(chapter: Chapter) -> list[str]:
    """Return the routines of the modules of a chapter: those of OpenSHMEM in its order, then the others by module."""
    rows = [row for each in (chapter, *CHAPTERS) for row in each.rows if isinstance(row, Routine)]
    mine = [row for row in rows if row.module in chapter.modules]
    first = [row.name for row in mine if row.c and row in chapter.rows]
    others = sorted(mine, key=lambda row: chapter.modules.index(row.module))
    return list(dict.fromkeys([*first, *(row.name for row in others)]))


def page(chapter: Chapter) -> str:
    """Return the page of a chapter."""
    lines = [_title(chapter.title, "=")]
    for module in chapter.modules:
        lines += [f".. automodule:: ishmem.{module}", "   :no-members:", "   :no-index:", ""]
    for name in routines(chapter):
        lines += _routine(name)
    for beginning, text in CONSTANTS.get(chapter.title, ()):
        lines += _constants(beginning, text)
    for name in CLASSES.get(chapter.title, ()):
        lines += [_title(name, "-"), f".. autoclass:: ishmem.{name}", "   :members:", "   :inherited-members:"]
        lines += ["   :exclude-members: shape", ""]
    return "\n".join(lines)


def _constants(beginning: str, text: str) -> list[str]:
    """Return the section of the constants whose names begin so."""
    lines = [_title("Constants", "-"), text, ""]
    for name in sorted(each for each in ishmem.__all__ if each.startswith(beginning)):
        value = getattr(ishmem, name)
        lines += [f".. py:data:: ishmem.{name}"]
        lines += ["", f"   {MEANINGS[name]}", ""] if name in MEANINGS else [f"   :value: {int(value)}", ""]
    return lines


def _routine(name: str) -> list[str]:
    """Return the section of a routine: where it may be called and how, then its docstring and those of its forms."""
    forms = [f"{name}{form}" for form in ROUTINES[name].forms]
    lines = [_title(name, "-"), ".. list-table::", "   :widths: 15 85", "   :class: forms", ""]
    for where, call in calls(name):
        lines += [f"   * - {where}", f"     - ``{call}``"]
    lines += ["", f".. autofunction:: ishmem.{name}", ""]
    for form in forms:
        lines += [f".. autofunction:: ishmem.{form}", ""]
    return lines


def calls(name: str) -> list[tuple[str, str]]:
    """Return the places where a routine may be called, each with the call."""
    from ishmem.kernels.intrinsics import registered

    function = getattr(ishmem, name)
    found = [("host", f"ishmem.{name}{c_map.parameters(function)}")]
    if function in registered:
        found.append(("kernel", f"ishmem.{name}{c_map.parameters(registered[function])}"))
    forms = {form: getattr(ishmem, f"{name}{form}") for form in ROUTINES[name].forms}
    if GROUP in forms:
        found.append(("work-group", f"ishmem.{name}{GROUP}{c_map.parameters(registered[forms[GROUP]])}"))
    if QUEUE in forms:
        found.append(("on-queue", f"ishmem.{name}{QUEUE}{c_map.parameters(forms[QUEUE])}"))
    return found


def tensors() -> str:
    """Return the page of ``ishmem.torch``, from its source: importing it needs torch."""
    from sphinx.ext.napoleon import GoogleDocstring  # the tests of the other pages run without Sphinx

    tree = ast.parse((Path(ishmem.__file__).parent / "torch.py").read_text())
    lines = [_title("Tensors of torch", "="), str(GoogleDocstring(ast.get_docstring(tree) or "")), ""]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            names = [each.arg for each in node.args.args]
            names += ["*", *(f"{each.arg}=None" for each in node.args.kwonlyargs)] if node.args.kwonlyargs else []
            lines += [_title(node.name, "-"), f".. py:function:: ishmem.torch.{node.name}({', '.join(names)})", ""]
            text = str(GoogleDocstring(ast.get_docstring(node) or ""))
            lines += [f"   {line}".rstrip() for line in text.splitlines()]
            lines.append("")
    return "\n".join(lines)


def errors() -> str:
    """Return the page of the exceptions."""
    lines = [_title("Errors", "=")]
    for name in ERRORS:
        lines += [f".. autoexception:: ishmem.{name}", "   :show-inheritance:", ""]
    return "\n".join(lines)


def _title(text: str, underline: str) -> str:
    return f"{text}\n{underline * len(text)}\n"


def slug(title: str) -> str:
    """Return the file name of a chapter, without its ending."""
    return title.lower().replace(",", "").replace(" ", "-")


def write(_app: Any) -> None:
    """Write all pages, and only those whose text has changed, so that Sphinx reads only these anew."""
    FOLDER.mkdir(exist_ok=True)
    pages = {slug(each.title): page(each) for each in CHAPTERS if each.modules}
    pages |= {"torch": tensors(), "errors": errors()}
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, Any]:
    """Let Sphinx call `write` before it reads the pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
