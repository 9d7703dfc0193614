"""Checks of constant arguments, and replacement of index tuples, in calls of ishmem before type inference.

``index=(i, j)`` becomes the number of the element.

numba chooses a device function by the types of the arguments, without the values of constants. So the calls are checked
before type inference. A function that emits no code makes the checks that depend on the dtype of an array.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.errors import TypingError
from numba.core.rewrites import register_rewrite

from ishmem.common import error_texts
from ishmem.common.violations import OPTIONS

from .intrinsics import I64, IntrinsicCode, device_intrinsic, require
from .options import CHECK
from .rewrites import CallRewrite, arguments_of, constant_of, with_arguments

LEAST = {"pe": 0, "root": 0, "index": 0, "nelems": 0, "dst": 1, "sst": 1}
"""Least allowed values of arguments, by name."""

ARRAYS = {
    "value": ("dest",), "cond": ("dest",), "source": ("dest",), "signal": ("sig_addr",),
    "cmp_value": ("ivar", "ivars", "sig_addr"),
}  # fmt: skip
"""Arguments that have the dtype of an array, and the possible names of that array."""


@register_rewrite("before-inference")
class ConstantArguments(CallRewrite):
    """Raises ``TypingError`` for wrong constants; inserts checks before calls where they depend on a dtype."""

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self._typing = state.typingctx

    def replaced_call(self, statement: Any, called: Any) -> list[Any] | None:
        """Return the call of ``called`` in ``statement`` after checks that need a dtype; None without such.

        Raises ``TypingError`` for a wrong constant.
        """
        checks = [self.call_of(check, statement.loc, array) for check, array in self._checks(statement, called)]
        return [*itertools.chain.from_iterable(checks), statement] if checks else None

    def apply(self) -> Any:
        """Return a copy of the block with the checks inserted."""
        block = super().apply()
        self._typing.refresh()  # registers the new checks
        return block

    def _checks(self, statement: Any, called: Any) -> Iterator[tuple[Any, Any]]:
        """Check the constants of a call; yield each check that depends on a dtype, with the variable of its array."""
        given = arguments_of(called, statement.value)
        for name, variable in given.items():
            value = constant_of(self.func_ir, variable) if isinstance(variable, ir.Var) else None
            if not isinstance(value, int) or isinstance(value, bool):
                continue
            _check(called.__name__, name, value, statement.loc)
            array = next((given[each] for each in ARRAYS.get(name, ()) if each in given), None)
            if array is not None:
                yield _element_check(called.__name__, name, value), array


def _check(routine: str, name: str, value: int, loc: Any) -> None:
    problem = ""
    if name in OPTIONS and value not in list(OPTIONS[name]):
        problem = error_texts.no_member(name, OPTIONS[name], value)
    if name in LEAST and value < LEAST[name]:
        problem = f"{name} is {value}; it is at least {LEAST[name]}"
    if problem:
        raise TypingError(f"{routine}: {problem}", loc)


@functools.cache
def _element_check(routine: str, name: str, value: int) -> Any:
    """Return an intrinsic that refuses to compile for arrays whose dtype lacks the ``value`` of argument ``name``."""

    @device_intrinsic
    def check_element(array):
        dtype = getattr(array, "dtype", None)
        fits = not isinstance(dtype, types.Integer) or dtype.minval <= value <= dtype.maxval
        require(fits, f"{routine}: {error_texts.misfit(name, value, dtype)}")
        return types.void(array), lambda _code, _array: None

    return check_element


INDEXED = ("sig_addr", "ivar", "lock", "dest", "source")
"""Names of arrays that ``index`` may refer to: it refers to the first of these that the routine has."""


@device_intrinsic
def number_of(array, index):
    """Return the number in C order of the element at a tuple of indices; with ``ISHMEM_CHECK``, -1 outside an array."""
    rank = getattr(array, "ndim", 0)
    words = f"index is a tuple of {len(index)}, of an array of {rank} dimensions; it has one integer for each"
    require(rank == len(index) and all(isinstance(each, types.Integer) for each in index), words)
    require(array.layout == "C", "index is a tuple, and the array is not in C order; pass the number of the element")

    def emit(code: IntrinsicCode, value, indices):
        builder, shape = code.builder, cgutils.unpack_tuple(code.builder, code.array(array, value).shape)
        number, inside = I64(0), llvm.IntType(1)(1)
        for extent, part, kind in zip(shape, cgutils.unpack_tuple(builder, indices), index):
            each = code.context.cast(builder, part, kind, types.int64)
            number = builder.add(builder.mul(number, extent), each)
            inside = builder.and_(inside, builder.icmp_unsigned("<", each, extent))
        return builder.select(inside, number, I64(-1)) if CHECK else number

    return types.int64(array, index), emit


@register_rewrite("before-inference")
class TupleIndices(CallRewrite):
    """Replaces an index that is a tuple by the number of the element."""

    def replaced_call(self, statement: Any, called: Any) -> list[Any] | None:
        """Return statements that compute the element's number, then ``statement`` with it; None without a tuple."""
        call, given = statement.value, arguments_of(called, statement.value)
        index, array = given.get("index"), next((given[name] for name in INDEXED if name in given), None)
        if array is None or not self._is_tuple(index):
            return None
        made = self.call_of(number_of, statement.loc, array, index)
        number = made[-1].target
        args = [number if each is index else each for each in call.args]
        kws = tuple((name, number if each is index else each) for name, each in call.kws)
        return [*made, with_arguments(statement, args, kws)]

    def _is_tuple(self, variable: Any) -> bool:
        while isinstance(variable, ir.Var):
            variable = self.func_ir._definitions.get(variable.name, [None])[0]
        if isinstance(variable, (ir.Const, ir.Global, ir.FreeVar)):
            return isinstance(variable.value, tuple)
        return isinstance(variable, ir.Expr) and variable.op == "build_tuple"
