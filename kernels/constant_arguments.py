"""Checks of constant arguments of ishmem's calls, when the kernel is compiled.

numba chooses a device function by the types of the arguments, without the values of constants. So the calls are checked
before type inference; what depends on the dtype of an array is checked by a function that emits no code.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Iterator
from typing import Any

from numba.core import ir, types
from numba.core.errors import TypingError
from numba.core.rewrites import register_rewrite

from ishmem.common import words
from ishmem.common.violations import OPTIONS

from .call_sites import CallRewrite, call_with
from .intrinsics import device_intrinsic, registered, require
from .numba_ir import constant_of

LEAST = {"pe": 0, "root": 0, "index": 0, "nelems": 0, "dst": 1, "sst": 1}
"""The arguments that have a least value."""

ARRAYS = {
    "value": ("dest",), "cond": ("dest",), "source": ("dest",), "signal": ("sig_addr",),
    "cmp_value": ("ivar", "ivars", "sig_addr"),
}  # fmt: skip
"""The arguments that are an element of an array, and the names of that array."""


@register_rewrite("before-inference")
class ConstantArguments(CallRewrite):
    """Raises the error of wrong constants; inserts checks of those that depend on a dtype before their calls."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._typing, self._checks = state.typingctx, dict[Any, list[tuple[Any, Any]]]()

    def concerns(self, statement: Any, called: Any) -> bool:
        """Check the constants of a call; return whether some depend on a dtype."""
        self._checks[statement] = list(_checks(self._ir, called, statement))
        return bool(self._checks[statement])

    def replacement(self, statement: Any, called: Any, scope: Any) -> list[Any]:
        """Return the checks of a call, and the call."""
        made = [call_with(check, (), scope, statement.loc, array) for check, array in self._checks[statement]]
        return [*itertools.chain.from_iterable(made), statement]

    def apply(self) -> Any:
        """Return the block with checks."""
        block = super().apply()
        self._typing.refresh()  # it does not know the new checks
        return block


def _checks(func_ir: Any, called: Any, statement: Any) -> Iterator[tuple[Any, Any]]:
    """Check the constants of a call; yield the checks that take an array, with that array."""
    given = _arguments(called, statement.value)
    for name, variable in given.items():
        value = constant_of(func_ir, variable) if isinstance(variable, ir.Var) else None
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        _check(called.__name__, name, value, statement.loc)
        array = next((given[each] for each in ARRAYS.get(name, ()) if each in given), None)
        if array is not None:
            yield _element_check(called.__name__, name, value), array


def _arguments(called: Any, call: Any) -> dict[str, Any]:
    """Return the variables of a call by the names of the parameters; none for a call that numba will refuse."""
    try:
        return inspect.signature(registered[called]).bind(*call.args, **dict(call.kws)).arguments
    except TypeError:
        return {}


def _check(routine: str, name: str, value: int, loc: Any) -> None:
    problem = ""
    if name in OPTIONS and value not in list(OPTIONS[name]):
        problem = words.no_member(name, OPTIONS[name], value)
    if name in LEAST and value < LEAST[name]:
        problem = f"{name} is {value}; it is at least {LEAST[name]}"
    if problem:
        raise TypingError(f"{routine}: {problem}", loc)


@functools.cache
def _element_check(routine: str, name: str, value: int) -> Any:
    """Return a function that requires an array of a dtype that has the value."""

    @device_intrinsic
    def check_element(_context, array):
        dtype = getattr(array, "dtype", None)
        fits = not isinstance(dtype, types.Integer) or dtype.minval <= value <= dtype.maxval
        require(fits, f"{routine}: {words.misfit(name, value, dtype)}")
        return types.void(array), lambda context, _builder, _signature, _arguments: context.get_dummy_value()

    return check_element
