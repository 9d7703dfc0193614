"""``python -m ishmem.cli.signatures``: write the signatures of derived routines to ``ishmem/__init__.pyi``.

``ishmem.runtime.stubs`` derives routines from others when they are imported, which type checkers and editors do not
see. The first part of the file, up to ``MARK``, is written by hand.
"""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import ishmem

PAGE = Path(ishmem.__file__).with_suffix(".pyi")
MARK = "# Written by python -m ishmem.cli.signatures from here on.\n"
_CHAPTERS = (
    "rma", "strided", "indexed", "signals", "order", "wait", "wait_sets", "collectives", "vcollectives", "reductions",
    "collectives_on_queue",
)  # fmt: skip
_NAMES = {
    "Any": "typing.Any", "Sequence": "typing.Sequence", "ndarray": "dpnp.ndarray", "Queue": "dpctl.SyclQueue | None",
    "Depends": "list[dpctl.SyclEvent] | None", "Index": "int | tuple[int, ...]",
}  # fmt: skip


def derived() -> dict[str, list[Any]]:
    """Return the derived routines of each chapter."""
    chapters = {chapter: vars(importlib.import_module(f"ishmem.{chapter}")) for chapter in _CHAPTERS}
    return {
        chapter: [found[name] for name in found["__all__"] if hasattr(found[name], "__signature__")]
        for chapter, found in chapters.items()
    }


def render() -> str:
    """Return what the file should be."""
    by_hand = PAGE.read_text().split(MARK)[0]
    parts = [MARK]
    imports = ["if not typing.TYPE_CHECKING:  # for lazy_loader, which imports a routine from where this says"]
    for chapter, routines in derived().items():
        imports += [f"    from .{chapter} import {each.__name__} as {each.__name__}" for each in routines]
    parts.append("\n".join(imports) + "\n")
    parts += [_definition(each) for routines in derived().values() for each in routines]
    return by_hand + "\n".join(parts)


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
