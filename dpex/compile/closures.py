"""Binds the arguments in calls of inner functions and lambdas, which numba inlines, as Python does.

numba appends all defaults to the positional arguments and drops the keywords. Both compilers of kernels use this.
"""

from __future__ import annotations

import inspect
from inspect import Parameter
from types import FunctionType
from typing import Any

from numba.core import inline_closurecall as inlining, ir
from numba.core.errors import UnsupportedError


def arguments(call: Any, callee: Any, loc: Any, func_ir: Any) -> list[Any]:
    """Return the IR variable or constant that a call of an inlined function passes for each parameter.

    Args:
        call: The call, an expression of numba's IR.
        callee: The called function, or the ``make_function`` expression of an inner one.
        loc: The location of the call.
        func_ir: The IR of the calling function.

    Raises:
        UnsupportedError: The arguments do not fit the parameters.
    """
    if isinstance(callee, FunctionType) or call.op != "call" or call.vararg:
        return _of_numba(call, callee, loc, func_ir)  # type: ignore[no-any-return]
    signature = _signature(callee.code, _defaults(callee, func_ir))
    try:
        bound = signature.bind(*call.args, **dict(call.kws))
    except TypeError as error:
        raise UnsupportedError(f"the call of {callee.code.co_name} does not fit its parameters: {error}", loc) from None
    bound.apply_defaults()
    return [each if isinstance(each, ir.Var) else ir.Const(each, loc) for each in bound.arguments.values()]


def _signature(code: Any, defaults: list[Any]) -> inspect.Signature:
    """Return the signature of an inner function; numba has no keyword-only parameters with defaults."""
    count, names = code.co_argcount, code.co_varnames
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        raise UnsupportedError(f"the inner function {code.co_name} takes *args or **kwargs; name its parameters")
    without = count - len(defaults)
    given = [Parameter.empty] * without + defaults
    kinds: list[Any] = [Parameter.POSITIONAL_ONLY] * code.co_posonlyargcount
    kinds += [Parameter.POSITIONAL_OR_KEYWORD] * (count - code.co_posonlyargcount)
    parameters = [Parameter(name, kind, default=its) for name, kind, its in zip(names, kinds, given)]
    extra = names[count : count + code.co_kwonlyargcount]
    return inspect.Signature(parameters + [Parameter(name, Parameter.KEYWORD_ONLY) for name in extra])


def _defaults(callee: Any, func_ir: Any) -> list[Any]:
    """Return the defaults of an inner function, each a variable or a constant."""
    defaults = callee.defaults
    if isinstance(defaults, (ir.Var, str)):
        defaults = func_ir.get_definition(defaults).items
    return list(defaults or ())


_of_numba = inlining._get_callee_args


def install() -> None:
    """Replace numba's ``_get_callee_args`` by `arguments`."""
    inlining._get_callee_args = arguments
