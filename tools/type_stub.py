"""``python -I -S tools/type_stub.py OUTPUT``: writes the type stub ``ishmem/__init__.pyi``. The build runs this.

The stub imports the public names of all modules, and contains the signatures of the routines that
`ishmem.runtime.stubs` derives from others at import. A build has neither the core nor the packages that ishmem needs;
inert modules replace them.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[1]
_HEAD = """# Written by tools/type_stub.py.
import typing

import dpctl
import dpnp

from . import graph as graph, inference as inference, moe as moe
"""
_NAMES = {
    "Any": "typing.Any", "Sequence": "typing.Sequence", "ndarray": "dpnp.ndarray", "Queue": "dpctl.SyclQueue | None",
    "Depends": "list[dpctl.SyclEvent] | None", "Index": "int | tuple[int, ...]",
}  # fmt: skip


class _Inert(type):
    """The metaclass of `Nothing`: every attribute is `Nothing`, and an iteration has no elements."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __iter__(cls) -> Any:
        return iter(())


class Nothing(metaclass=_Inert):
    """The value of every name in an inert module: a class that can be a base class, and whose calls return itself."""

    def __new__(cls, *_arguments: Any, **_keywords: Any) -> Any:
        return cls


class InertModule(ModuleType):
    """The replacement of a module that is not available in a build."""

    __path__: list[str] = []
    __file__ = __file__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Nothing

    @staticmethod
    def Routine(_core_function: Any, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that returns the Python function of a routine with a fast path."""
        return lambda: function


class InertModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import hook that returns inert modules for all that are not found: other packages and the core."""

    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> importlib.machinery.ModuleSpec:
        """Return the specification of an inert module ``name``: this hook is asked last."""
        return importlib.machinery.ModuleSpec(name, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> InertModule:
        """Return an inert module."""
        return InertModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing."""


def import_from_sources() -> None:
    """Make ``import ishmem.NAME`` import the sources, without running the package's ``__init__``."""
    sys.dont_write_bytecode = True
    package = ModuleType("ishmem")
    package.__path__ = [str(ROOT / "ishmem")]
    package.__file__ = str(ROOT / "ishmem" / "__init__.py")
    sys.modules["ishmem"] = package
    sys.meta_path.append(InertModules())


@functools.cache
def _public() -> dict[str, dict[str, Any]]:
    """Return the exported names of each module of ``ishmem``, with their values."""
    exports = importlib.import_module("ishmem.common.exports").by_module()
    modules = {module: importlib.import_module(f"ishmem.{module}") for module in exports}
    return {module: {name: getattr(modules[module], name) for name in names} for module, names in exports.items()}


def _is_derived(value: Any) -> bool:
    return "__signature__" in getattr(value, "__dict__", ())


def derived() -> dict[str, list[Any]]:
    """Return the routines with derived signatures, by module."""
    return {module: [value for value in names.values() if _is_derived(value)] for module, names in _public().items()}


def render() -> str:
    """Return the content of the stub."""
    imports = [_import(module, names) for module, names in sorted(_public().items())]
    definitions = (_definition(each) for routines in derived().values() for each in routines)
    return "\n".join([_HEAD + "".join(imports) + "__version__: str\n", *definitions])


def _import(module: str, names: dict[str, Any]) -> str:
    """Return the import statement of the names of a module that are not derived; empty if there are none."""
    aliases = [f"{name} as {name}" for name, value in names.items() if not _is_derived(value)]
    line = f"from .{module} import {', '.join(aliases)}\n"
    if not aliases or len(line) <= 120:
        return line if aliases else ""
    return f"from .{module} import (\n" + "".join(f"    {alias},\n" for alias in aliases) + ")\n"


def _definition(routine: Any) -> str:
    signature = inspect.signature(routine)
    written = [_parameter(each).replace(" ", "\0") for each in signature.parameters.values()]
    by_name = [each.kind is inspect.Parameter.KEYWORD_ONLY for each in signature.parameters.values()]
    if True in by_name:
        written.insert(by_name.index(True), "*")
    parameters = ", ".join(written)
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
    import_from_sources()
    Path(sys.argv[1]).write_text(render())
