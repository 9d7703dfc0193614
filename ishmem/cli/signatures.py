"""``python -m ishmem.cli.signatures``: write ``ishmem/__init__.pyi``, from which ``ishmem`` also knows what it exports.

It imports the public names of all modules, and spells out the signatures of the routines that `ishmem.runtime.stubs`
derives from others when they are imported, which type checkers and editors do not see.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any

import ishmem
from ishmem.common.errors import IshmemError
from ishmem.common.routines import ROUTINES

PAGE = Path(ishmem.__file__).with_suffix(".pyi")
_HEAD = """# Written by python -m ishmem.cli.signatures.
import typing

import dpctl
import dpnp

from . import inference as inference, moe as moe
"""
_OTHERS = ("common.constants", "common.errors")
_NAMES = {
    "Any": "typing.Any", "Sequence": "typing.Sequence", "ndarray": "dpnp.ndarray", "Queue": "dpctl.SyclQueue | None",
    "Depends": "list[dpctl.SyclEvent] | None", "Index": "int | tuple[int, ...]",
}  # fmt: skip


def _public() -> dict[str, dict[str, Any]]:
    """Return the public names of each module of ``ishmem`` and their values, in the order of the table of routines."""
    places = dict.fromkeys(module for row in ROUTINES.values() for module, _ in row.places)
    return {name: _public_of(importlib.import_module(f"ishmem.{name}")) for name in (*places, *_OTHERS)}


def _public_of(module: ModuleType) -> dict[str, Any]:
    found = vars(module)
    names = found.get("__all__") or [name for name, value in found.items() if _is_constant_or_error(value)]
    return {name: found[name] for name in sorted(names)}


def _is_constant_or_error(value: Any) -> bool:
    return isinstance(value, Enum) or (inspect.isclass(value) and issubclass(value, IshmemError))


def _is_derived(value: Any) -> bool:
    return "__signature__" in getattr(value, "__dict__", ())


def derived() -> dict[str, list[Any]]:
    """Return the derived routines of each module."""
    return {
        module: [value for value in names.values() if _is_derived(value)]
        for module, names in _public().items()
    }


def render() -> str:
    """Return what the file should be."""
    imports = [_import(module, names) for module, names in sorted(_public().items())]
    late = ["if not typing.TYPE_CHECKING:  # for lazy_loader, which imports a routine from where this says"]
    for module, routines in derived().items():
        late += [f"    from .{module} import {each.__name__} as {each.__name__}" for each in routines]
    definitions = (_definition(each) for routines in derived().values() for each in routines)
    return "\n".join([_HEAD + "".join(imports) + "__version__: str\n", "\n".join(late) + "\n", *definitions])


def _import(module: str, names: dict[str, Any]) -> str:
    """Return the import of the names of a module that are not derived."""
    aliases = [f"{name} as {name}" for name, value in names.items() if not _is_derived(value)]
    line = f"from .{module} import {', '.join(aliases)}\n"
    if not aliases or len(line) <= 120:
        return line if aliases else ""
    return f"from .{module} import (\n" + "".join(f"    {alias},\n" for alias in aliases) + ")\n"


def _definition(routine: Any) -> str:
    signature = inspect.signature(routine)
    parameters = ", ".join(_parameter(each) for each in signature.parameters.values())
    head = f"def {routine.__name__}({parameters}) -> {_qualified(signature.return_annotation)}:\n"
    if len(head) > 120:
        wrapped = textwrap.fill(parameters, 116, initial_indent="    ", subsequent_indent="    ")
        head = f"def {routine.__name__}(\n{wrapped},\n) -> {_qualified(signature.return_annotation)}:\n"
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
