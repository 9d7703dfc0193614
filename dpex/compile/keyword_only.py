"""Keyword-only parameters of device functions, as ``y`` in ``def f(x, *, y)``: numba knows positional ones."""

from __future__ import annotations

from types import FunctionType
from typing import Any, Callable

from numba.core.errors import NumbaTypeError


class _Required:
    """Stands for the default of a parameter that has none and follows one that has."""


def positional(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose keyword-only parameters follow the others, with the same code.

    Raises:
        NumbaTypeError: The function also takes any number of arguments by ``*``.
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
"""The flag of code with a parameter ``*args``."""


def check_call(function: Callable[..., Any], arguments: Any, folded: Any) -> None:
    """Refuse a call of a function that passes a keyword-only argument by position, or leaves one out.

    Args:
        function: The function as the program has defined it.
        arguments: The types of the positional arguments.
        folded: The types of all arguments.

    Raises:
        NumbaTypeError: It does so.
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
