"""``python -m tools.signatures``: write ``ishmem/__init__.pyi``, for type checkers and editors.

It imports the public names of all modules, and spells out the signatures of the routines that `ishmem.runtime.stubs`
derives from others when they are imported.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import ishmem
from ishmem.common import exports

PAGE = Path(ishmem.__file__).with_suffix(".pyi")
_HEAD = """# Written by python -m tools.signatures.
import typing

import dpctl
import dpnp

from . import graph as graph, inference as inference, moe as moe
"""
_NAMES = {
    "Any": "typing.Any", "Sequence": "typing.Sequence", "ndarray": "dpnp.ndarray", "Queue": "dpctl.SyclQueue | None",
    "Depends": "list[dpctl.SyclEvent] | None", "Index": "int | tuple[int, ...]",
}  # fmt: skip


def _public() -> dict[str, dict[str, Any]]:
    """Return the exported names of each module of ``ishmem`` and their values."""
    modules = {module: importlib.import_module(f"ishmem.{module}") for module in exports.by_module()}
    return {
        module: {name: getattr(modules[module], name) for name in names}
        for module, names in exports.by_module().items()
    }


def _is_derived(value: Any) -> bool:
    return "__signature__" in getattr(value, "__dict__", ())


def derived() -> dict[str, list[Any]]:
    """Return the derived routines of each module."""
    return {module: [value for value in names.values() if _is_derived(value)] for module, names in _public().items()}


def render() -> str:
    """Return what the file should be."""
    imports = [_import(module, names) for module, names in sorted(_public().items())]
    definitions = (_definition(each) for routines in derived().values() for each in routines)
    return "\n".join([_HEAD + "".join(imports) + "__version__: str\n", *definitions])


def _import(module: str, names: dict[str, Any]) -> str:
    """Return the import of the names of a module that are not derived."""
    aliases = [f"{name} as {name}" for name, value in names.items() if not _is_derived(value)]
    line = f"from .{module} import {', '.join(aliases)}\n"
    if not aliases or len(line) <= 120:
        return line if aliases else ""
    return f"from .{module} import (\n" + "".join(f"    {alias},\n" for alias in aliases) + ")\n"


def _definition(routine: Any) -> str:
    signature = inspect.signature(routine)
    parameters = ", ".join(_parameter(each).replace(" ", "\0") for each in signature.parameters.values())
    head = f"def {routine.__name__}({parameters}) -> {_qualified(signature.return_annotation)}:\n"
    if len(head) > 120:
        wrapped = textwrap.fill(parameters, 116, initial_indent="    ", subsequent_indent="    ")
        head = f"def {routine.__name__}(\n{wrapped},\n) -> {_qualified(signature.return_annotation)}:\n"
    head = head.replace("\0", " ")
    return head + textwrap.indent(f'"""{routine.__doc__}"""\n', "    ", lambda line: bool(line.strip()))


def _parameter(parameter: inspect.Parameter) -> str:
    text = f"{parameter.name}: {_qualified(parameter.annotation)}"
    if parameter.default is inspect.Parameter.empty:
        return text
    return f"{text} = {parameter.default!r}".replace("= ishmem.", "= ")


def _qualified(annotation: str) -> str:
    return re.sub(r"\w+(\.\w+)*", lambda found: _NAMES.get(found[0], found[0]), annotation)


if __name__ == "__main__":
    PAGE.write_text(render())
