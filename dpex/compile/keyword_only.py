"""Converts keyword-only parameters of device functions, which numba does not support, to positional ones."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Callable

from numba.core.errors import NumbaTypeError


class _Required:
    """The placeholder default of a parameter without one that follows a parameter with a default."""


def positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same function with its keyword-only parameters as positional ones after the others.

    Raises:
        NumbaTypeError: The function also has a parameter ``*args``.
    """
    code: Any = function.__code__
    count, only = code.co_argcount, code.co_kwonlyargcount
    if not only:
        return function
    if code.co_flags & _HAS_STAR:
        raise NumbaTypeError(f"{function.__name__} takes * and arguments by name only: kernels do not have both")
    named, given = function.__kwdefaults__ or {}, function.__defaults__ or ()
    defaults = [_Required] * (count - len(given)) + list(given)
    defaults += [named.get(name, _Required) for name in code.co_varnames[count : count + only]]
    while defaults and defaults[0] is _Required:
        defaults.pop(0)
    code = code.replace(co_argcount=count + only, co_kwonlyargcount=0)
    made = FunctionType(
        code,
        function.__globals__,
        function.__name__,
        tuple(defaults) or None,
        function.__closure__,
    )
    made.__module__, made.__qualname__, made.__doc__ = function.__module__, function.__qualname__, function.__doc__
    return made


_HAS_STAR = 0x04
"""The flag of code objects with a parameter ``*args``."""


def check_call(function: Callable[..., Any], arguments: Any, folded: Any) -> None:
    """Check that a call passes keyword-only arguments by name, and all that have no default.

    Args:
        function: The function as the program has defined it.
        arguments: The types of the positional arguments.
        folded: The types of all arguments, in the order of the parameters.

    Raises:
        NumbaTypeError: One is passed by position, or missing.
    """
    code: Any = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if not code.co_kwonlyargcount:
        return
    if len(arguments) > code.co_argcount:
        name = names[code.co_argcount]
        raise NumbaTypeError(
            f"{function.__name__} takes {code.co_argcount} arguments by position, got {len(arguments)}: "
            f"write {name}=..."
        )
    for name, kind in zip(names, folded):
        if getattr(kind, "value", None) is _Required:
            raise NumbaTypeError(f"{function.__name__} takes {name}, which is not given: write {name}=...")
