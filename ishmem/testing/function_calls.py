"""Requests of `ishmem.testing.Pes` to call a function, identified by its module and name."""

from __future__ import annotations

import importlib
import operator
from typing import Any, Callable

from ishmem.testing.messages import FunctionCall


def describe(function: Callable[..., Any], arguments: tuple[Any, ...]) -> FunctionCall:
    """Return the request to call ``function`` with ``arguments``.

    Raises:
        ValueError: PEs cannot import the function: it is of ``__main__``, a lambda, or local to another function.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<>")
    if not module or module == "__main__" or "<" in name:
        raise ValueError(f"got {function!r}, allowed: a function of a module that the PEs can import, not of __main__")
    return FunctionCall(module, name, arguments)


def call(request: FunctionCall) -> Any:
    """Import and call the function of a request; return its result."""
    function = operator.attrgetter(request.name)(importlib.import_module(request.module))
    return function(*request.arguments)
