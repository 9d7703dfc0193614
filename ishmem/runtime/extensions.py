"""The first calls of the extensions of dpctl and dpnp, which must not be made in two threads at once.

Each extension has a static object of dpctl's header. Its constructor, which runs in the first call, allocates memory
and so releases the interpreter's lock; another thread then holds that lock and waits for the constructor to end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import Any, Callable

_PACKAGES = ("dpctl", "dpnp")
_SIGNATURE = re.compile(r"\w+\((\w+: .*(?:SyclQueue|SyclDevice|usm_ndarray).*)\) -> ")

_called: set[str] = set()


def call_first() -> None:
    """Make the first call of each loaded extension of dpctl and dpnp, with arguments that it rejects; once for each."""
    for module in _loaded():
        for function, arguments in _functions(module):
            _called.add(module.__name__)
            try:
                function(*arguments)
            except TypeError:  # of the arguments; the extension has compared them with dpctl's types
                break


def _loaded() -> list[ModuleType]:
    """Return the loaded extensions of dpctl and dpnp that have not been called."""
    return [
        module
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] in _PACKAGES
        and name not in _called
        and isinstance(getattr(getattr(module, "__spec__", None), "loader", None), ExtensionFileLoader)
    ]


def _functions(module: ModuleType) -> Iterator[tuple[Callable[..., Any], list[None]]]:
    """Yield functions with parameters of dpctl's types, each with a list of None for its required arguments."""
    for function in list(vars(module).values()):
        parameters = _SIGNATURE.search(getattr(function, "__doc__", None) or "") if callable(function) else None
        if parameters:
            needed = len(re.findall(r"\w+: ", parameters[1])) - parameters[1].count(" = ")
            yield function, [None] * needed
