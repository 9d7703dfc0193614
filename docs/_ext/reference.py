"""Writes the pages of the API reference from the table of routines (`ishmem.common.routines`) and the docstrings."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import ishmem
from ishmem.common import constants
from ishmem.common.routines import CHAPTERS, GROUP, QUEUE, ROUTINES, Chapter, Routine
from tools import c_map

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
    "Inference": ("graph.Graph", "inference.Communicator", "moe.Buffer", "moe.Handle"),
}
KERNEL_LANGUAGE = """\
The names of ``ishmem.dpex`` (``call_kernel``, ``Range``, ``NdRange``, ``LocalAccessor``) and of
``ishmem.dpex.kernel_api``, which programs import as ``kapi``. :doc:`/concepts/kernel-language` explains them with
programs. Where `numba-dpex <https://intelpython.github.io/numba-dpex/latest/>`_ is installed, the names are its own
objects."""

KERNEL_API = {
    "Index spaces": ("Range", "NdRange", "Item", "NdItem", "Group", "SubGroup"),
    "Memory": ("LocalAccessor", "PrivateArray", "bfloat16"),
    "Barriers and atomics": (
        "group_barrier", "AtomicRef", "atomic_fence", "MemoryOrder", "MemoryScope", "AddressSpace",
    ),
    "In plain Python": ("call_kernel",),
}  # fmt: skip
"""The names of ``ishmem.dpex.kernel_api`` in the order of its page."""

PARTS = {
    "Collectives": {
        "Barriers": ("collectives", ".*(barrier|sync)"),
        "Broadcasts, gathers and exchanges": ("collectives", ""),
        "Collectives of unequal blocks": ("vcollectives", ""),
        "Reductions and scans": ("reductions", ""),
    },
}
"""Chapters that are divided: the module and the names of the routines of each part."""

ERRORS = ("IshmemError", "StateError", "SymmetryError", "HeapExhausted", "PeerLost", "WaitTimeout", "LevelZeroError")


def routines(chapter: Chapter) -> list[str]:
    """Return the routines of the modules of a chapter: those of OpenSHMEM in its order, then the others by module."""
    rows = [row for each in (chapter, *CHAPTERS) for row in each.rows if isinstance(row, Routine)]
    mine = [row for row in rows if row.module in chapter.modules]
    first = [row.name for row in mine if row.c and row in chapter.rows]
    others = sorted(mine, key=lambda row: chapter.modules.index(row.module))
    return list(dict.fromkeys([*first, *(row.name for row in others)]))


def pages(chapter: Chapter) -> dict[str, str]:
    """Return the pages of a chapter by the names of their files: one, or one for each of its parts and their list."""
    if chapter.title not in PARTS:
        return {slug(chapter.title): page(chapter)}
    left, found = routines(chapter), {}
    for title, (module, chosen) in PARTS[chapter.title].items():
        names = [name for name in left if ROUTINES[name].module == module and re.match(chosen, name)]
        left = [name for name in left if name not in names]
        lines = [_title(title, "="), *(_about(module) if module != chapter.modules[0] else [])]
        found[slug(title)] = "\n".join([*lines, *(line for name in names for line in _routine(name))])
    contents = [".. toctree::", "   :maxdepth: 2", "", *(f"   {name}" for name in found), ""]
    found[slug(chapter.title)] = "\n".join([_title(chapter.title, "="), *_about(chapter.modules[0]), *contents])
    return found


def _about(module: str) -> list[str]:
    """Return the directive that shows the docstring of a module."""
    return [f".. automodule:: ishmem.{module}", "   :no-members:", "   :no-index:", ""]


def page(chapter: Chapter) -> str:
    """Return the page of a chapter that has no parts."""
    lines = [_title(chapter.title, "=")]
    for module in chapter.modules:
        lines += _about(module)
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


def kernel_language() -> str:
    """Return the page of the language of kernels: ``ishmem.dpex`` and ``ishmem.dpex.kernel_api``."""
    from sphinx.ext.napoleon import GoogleDocstring

    lines = [_title("The kernel language", "="), KERNEL_LANGUAGE, "", _title("Kernels and launches", "-")]
    lines += [".. py:currentmodule:: ishmem.dpex", ""]
    for name, text in _decorators().items():
        lines += [f".. py:decorator:: {name}(function_or_signature=None, **options)", ""]
        lines += [f"   {line}".rstrip() for line in str(GoogleDocstring(text)).splitlines()] + [""]
    for name in ("call_kernel", "call_kernel_async"):
        lines += [f".. autofunction:: ishmem.dpex.{name}", ""]
    lines += [".. py:currentmodule:: ishmem.dpex.kernel_api", ""]
    for title, names in KERNEL_API.items():
        lines += [_title(title, "-")]
        for name in names:
            lines += _of_kernel_api(name)
    return "\n".join(lines)


def _decorators() -> dict[str, str]:
    """Return the docstrings of ``kernel`` and ``device_func``, which stand behind assignments."""
    source = importlib.import_module("ishmem.dpex.decorators").__file__ or ""
    body = ast.parse(Path(source).read_text()).body
    found = {}
    for node, after in zip(body, body[1:]):
        name = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
        if name in ("kernel", "device_func") and isinstance(after, ast.Expr):
            found[name] = inspect.cleandoc(ast.literal_eval(after.value))
    return found


def _of_kernel_api(name: str) -> list[str]:
    """Return the entry of a function, an enumeration or a class."""
    full = f"ishmem.dpex.kernel_api.{name}"
    value = getattr(importlib.import_module("ishmem.dpex.kernel_api"), name)
    if not inspect.isclass(value):
        return [f".. autofunction:: {full}", ""]
    if issubclass(value, enum.IntEnum):
        members = ", ".join(f"``{each.name}`` ({each.value})" for each in value)
        return [f".. py:class:: {name}", "", f"   {inspect.getdoc(value)} {members}.", ""]
    made_by_programs = name in ("Range", "NdRange", "LocalAccessor", "PrivateArray", "AtomicRef")
    lines = [f".. autoclass:: {full}{'' if made_by_programs else '()'}", "   :members:"]
    return [*lines, "   :exclude-members: allocate", "   :class-doc-from: both" if made_by_programs else "", ""]


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
    made = {name: text for each in CHAPTERS if each.modules for name, text in pages(each).items()}
    made |= {"torch": tensors(), "kernel-language": kernel_language(), "errors": errors()}
    for name, text in made.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Any) -> dict[str, Any]:
    """Let Sphinx call `write` before it reads the pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
