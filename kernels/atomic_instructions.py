"""Intrinsics for atomic instructions and memory fences in kernels.

Atomics are SPIR-V instructions with cross-device scope on integers of the element's width. Floats are bit-cast, so one
implementation serves all dtypes; what floats combine, a loop of compare-and-swap does.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir
from numba.core import types

from . import memory_orders
from .intrinsics import CROSS_DEVICE, CROSS_WORKGROUP, GLOBAL, I32, I64, SCOPE_AND_MASK, device_intrinsic, spirv_call


def _bits(context: Any, dtype: Any) -> Any:
    return types.int32 if context.get_abi_sizeof(context.get_data_type(dtype)) == 4 else types.int64


def spirv_atomic(context: Any, builder: Any, name: str, integer: Any, middle: list[Any], values: list[Any]) -> Any:
    """Emit a SPIR-V atomic on integers: ``middle`` has its semantics masks, ``values`` the pointer and the operands."""
    result = ir.VoidType() if name == "AtomicStore" else context.get_value_type(integer)
    mangled = [types.CPointer(integer, addrspace=GLOBAL), SCOPE_AND_MASK[0]]
    mangled += [SCOPE_AND_MASK[1]] * len(middle) + [integer] * (len(values) - 1)
    arguments = [values[0], I32(CROSS_DEVICE), *(I32(mask | CROSS_WORKGROUP) for mask in middle), *values[1:]]
    return spirv_call(builder, name, mangled, result, arguments)


def _instruction(name: str, masks: tuple[int, ...], dtype: Any, operands: int) -> Callable[..., Any]:
    """Return what emits a SPIR-V atomic on an element; its first ``operands`` follow address and array."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = _bits(context, dtype)
        word, natural = context.get_value_type(integer), context.get_value_type(dtype)
        pointer = builder.inttoptr(arguments[0], word.as_pointer(GLOBAL))
        given = zip(arguments[2 : 2 + operands], signature.args[2:])
        values = [builder.bitcast(context.cast(builder, each, kind, dtype), word) for each, kind in given]
        return builder.bitcast(spirv_atomic(context, builder, name, integer, list(masks), [pointer, *values]), natural)

    return code


def atomic(name: str, *masks: int, operands: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that returns the result of a SPIR-V atomic instruction.

    The instruction has as many ``operands``, the first ones.
    """

    def typing(_context: Any, address: Any, like: Any, value: Any, cond: Any) -> Any:
        return like.dtype(types.int64, like, value, cond), _instruction(name, masks, like.dtype, operands)

    return device_intrinsic(typing)


Combine = Callable[[Any, Any, Any], Any]
"""Emits the combination of an old value and an operand, both floats."""


def _lesser(builder: Any, old: Any, value: Any) -> Any:
    return _chosen(builder, "<", old, value)


def _greater(builder: Any, old: Any, value: Any) -> Any:
    return _chosen(builder, ">", old, value)


def _chosen(builder: Any, comparison: str, old: Any, value: Any) -> Any:
    """Emit ``value`` if it compares so with ``old`` or is NaN, else ``old``: NaN if either is."""
    changes = builder.or_(builder.fcmp_ordered(comparison, value, old), builder.fcmp_unordered("uno", value, value))
    return builder.select(changes, value, old)


def _atomic_float(mask: int, combine: Combine) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that combines a float with a value and returns the old value.

    SPIR-V's own instructions are extensions that not every device has, so this is a loop of compare-and-swap on the
    bits.
    """

    def typing(_context: Any, address: Any, like: Any, value: Any, cond: Any) -> Any:
        dtype = like.dtype

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            integer = _bits(context, dtype)
            word, natural = context.get_value_type(integer), context.get_value_type(dtype)
            pointer = builder.inttoptr(arguments[0], word.as_pointer(GLOBAL))
            operand = context.cast(builder, arguments[2], signature.args[2], dtype)
            first = spirv_atomic(context, builder, "AtomicLoad", integer, [mask], [pointer])
            before, swap = builder.block, builder.append_basic_block("combine")
            builder.branch(swap)
            builder.position_at_end(swap)
            old = builder.phi(word)
            combined = builder.bitcast(combine(builder, builder.bitcast(old, natural), operand), word)
            values = [pointer, combined, old]
            seen = spirv_atomic(context, builder, "AtomicCompareExchange", integer, [mask, mask], values)
            old.add_incoming(first, before)
            old.add_incoming(seen, swap)
            done = builder.append_basic_block("combined")
            builder.cbranch(builder.icmp_unsigned("==", seen, old), done, swap)
            builder.position_at_end(done)
            return builder.bitcast(seen, natural)

        return dtype(types.int64, like, value, cond), code

    return device_intrinsic(typing)


def atomic_add_float(mask: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that adds to a float and returns the old value."""
    return _atomic_float(mask, lambda builder, old, value: builder.fadd(old, value))


def atomic_min_float(mask: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that stores the lesser float and returns the old value."""
    return _atomic_float(mask, _lesser)


def atomic_max_float(mask: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that stores the greater float and returns the old value."""
    return _atomic_float(mask, _greater)


def _word(name: str, mask: int) -> Any:
    """Make an intrinsic ``(address, *operands)`` for an atomic on the int64 at an address."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], I64.as_pointer(GLOBAL))
        result = spirv_atomic(context, builder, name, types.int64, [mask], [pointer, *arguments[1:]])
        return context.get_dummy_value() if name == "AtomicStore" else result

    if name != "AtomicLoad":
        result = types.void if name == "AtomicStore" else types.int64
        return device_intrinsic(lambda context, address, value: (result(types.int64, types.int64), code))
    return device_intrinsic(lambda context, address: (types.int64(types.int64), code))


atomic_load_word = _word("AtomicLoad", memory_orders.RECORD)
atomic_store_word = _word("AtomicStore", memory_orders.RECORD)
atomic_store_flag = _word("AtomicStore", memory_orders.FLAG)
atomic_exchange_word = _word("AtomicExchange", memory_orders.RECORD)
atomic_add_word = _word("AtomicIAdd", memory_orders.RECORD)


@device_intrinsic
def atomic_load(_context, address, like):
    """Return the element of the dtype of ``like`` at an address, by a SPIR-V atomic instruction."""
    return like.dtype(types.int64, like), _instruction("AtomicLoad", (memory_orders.AMO,), like.dtype, 0)


def memory_fence(order: memory_orders.Order) -> Any:
    """Make an intrinsic that is a memory fence with cross-device scope, which includes the host."""

    def code(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        operands = [I32(CROSS_DEVICE), I32(order | CROSS_WORKGROUP)]
        spirv_call(builder, "MemoryBarrier", SCOPE_AND_MASK, ir.VoidType(), operands)
        return context.get_dummy_value()

    return device_intrinsic(lambda context: (types.void(), code))
