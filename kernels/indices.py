"""Tuples of indices in kernels: ``index=(i, j)`` becomes the number of the element before the types are known."""

from __future__ import annotations

import inspect
from typing import Any

from llvmlite import ir as llvm
from numba.core import cgutils, ir, types
from numba.core.rewrites import register_rewrite

from .call_sites import CallRewrite, call_with
from .intrinsics import I64, device_intrinsic, registered, require
from .options import CHECK

ARRAYS = ("sig_addr", "ivar", "lock", "dest", "source")
"""The names of arrays that ``index`` may be about; of those that a routine has it is the first."""


@device_intrinsic
def number_of(_context, array, index):
    """Return the number in C order of the element at a tuple of indices; with ``ISHMEM_CHECK``, -1 outside an array."""
    rank = getattr(array, "ndim", 0)
    words = f"index is a tuple of {len(index)}, of an array of {rank} dimensions; it has one integer for each"
    require(rank == len(index) and all(isinstance(each, types.Integer) for each in index), words)
    require(array.layout == "C", "index is a tuple, and the array is not in C order; pass the number of the element")

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = cgutils.unpack_tuple(builder, context.make_array(array)(context, builder, arguments[0]).shape)
        number, inside = I64(0), llvm.IntType(1)(1)
        for extent, part, kind in zip(shape, cgutils.unpack_tuple(builder, arguments[1]), signature.args[1]):
            each = context.cast(builder, part, kind, types.int64)
            number = builder.add(builder.mul(number, extent), each)
            inside = builder.and_(inside, builder.icmp_unsigned("<", each, extent))
        return builder.select(inside, number, I64(-1)) if CHECK else number

    return types.int64(array, index), code


@register_rewrite("before-inference")
class TupleIndices(CallRewrite):
    """Replaces an index that is a tuple by the number of the element."""

    def concerns(self, statement: Any, called: Any) -> bool:
        """Return whether the index of a call is a tuple."""
        return self._index(statement.value, called)[1] is not None

    def replacement(self, statement: Any, called: Any, scope: Any) -> list[Any]:
        """Return the statements that compute the number, and the call that takes it."""
        call, loc = statement.value, statement.loc
        array, index = self._index(call, called)
        made = call_with(number_of, (), scope, loc, array, index)
        number = made[-1].target
        arguments = [number if each is index else each for each in call.args]
        named = tuple((name, number if each is index else each) for name, each in call.kws)
        placed = ir.Expr.call(call.func, arguments, named, call.loc, call.vararg, call.varkwarg)
        return [*made, ir.Assign(placed, statement.target, loc)]

    def _index(self, call: Any, called: Any) -> tuple[Any, Any]:
        """Return the array of a call and its index, if that is a tuple."""
        try:
            given = inspect.signature(registered[called]).bind(*call.args, **dict(call.kws)).arguments
        except TypeError:  # numba will refuse the call
            return None, None
        index = given.get("index")
        array = next((given[name] for name in ARRAYS if name in given), None)
        return (array, index) if array is not None and self._is_tuple(index) else (None, None)

    def _is_tuple(self, variable: Any) -> bool:
        while isinstance(variable, ir.Var):
            variable = self._ir._definitions.get(variable.name, [None])[0]
        if isinstance(variable, (ir.Const, ir.Global, ir.FreeVar)):
            return isinstance(variable.value, tuple)
        return isinstance(variable, ir.Expr) and variable.op == "build_tuple"
