"""Intrinsics for atomic instructions and memory fences in kernels.

Atomics are SPIR-V instructions with cross-device scope on integers of the element's width. Floats are bit-cast, so one
implementation serves all dtypes; what floats combine, a loop of compare-and-swap does.
"""

from __future__ import annotations

from typing import Any, Callable

from llvmlite import ir
from numba.core import types

from . import memory_orders
from .intrinsics import (
    CROSS_DEVICE,
    CROSS_WORKGROUP,
    GLOBAL,
    I32,
    I64,
    SCOPE_AND_MASK,
    IntrinsicCode,
    device_intrinsic,
    size_in,
    spirv_call,
)


def _bits(code: IntrinsicCode, dtype: Any) -> Any:
    """Return the type of integers of the size of an element."""
    return types.int32 if size_in(code, dtype) == 4 else types.int64


def spirv_atomic(context: Any, builder: Any, name: str, integer: Any, middle: list[Any], values: list[Any]) -> Any:
    """Emit a SPIR-V atomic on integers: ``middle`` has its semantics masks, ``values`` the pointer and the operands."""
    result = ir.VoidType() if name == "AtomicStore" else context.get_value_type(integer)
    mangled = [types.CPointer(integer, addrspace=GLOBAL), SCOPE_AND_MASK[0]]
    mangled += [SCOPE_AND_MASK[1]] * len(middle) + [integer] * (len(values) - 1)
    arguments = [values[0], I32(CROSS_DEVICE), *(I32(mask | CROSS_WORKGROUP) for mask in middle), *values[1:]]
    return spirv_call(builder, name, mangled, result, arguments)


def _instruction(name: str, masks: tuple[int, ...], dtype: Any, operands: int) -> Callable[..., Any]:
    """Return what emits a SPIR-V atomic on an element; its first ``operands`` follow address and array."""

    def emit(code: IntrinsicCode, address, _array, *given):
        integer = _bits(code, dtype)
        word, natural = code.context.get_value_type(integer), code.context.get_value_type(dtype)
        values = [code.pointer(address, word)]
        for place, value in enumerate(given[:operands], 2):
            values.append(code.builder.bitcast(code.cast(value, place, dtype), word))
        result = spirv_atomic(code.context, code.builder, name, integer, list(masks), values)
        return code.builder.bitcast(result, natural)

    return emit


def atomic(name: str, *masks: int, operands: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that returns the result of a SPIR-V atomic instruction.

    The instruction has as many ``operands``, the first ones.
    """

    def typing(address: Any, like: Any, value: Any, cond: Any) -> Any:
        return like.dtype(types.int64, like, value, cond), _instruction(name, masks, like.dtype, operands)

    return device_intrinsic(typing)


Combine = Callable[[Any, Any, Any], Any]
"""Emits the combination of an old value and an operand, both floats."""


def _chosen(comparison: str) -> Combine:
    """Return what emits the operand if it compares so with the old value or is NaN, else the old value."""

    def combine(builder: Any, old: Any, value: Any) -> Any:
        changes = builder.or_(builder.fcmp_ordered(comparison, value, old), builder.fcmp_unordered("uno", value, value))
        return builder.select(changes, value, old)

    return combine


def _sum(builder: Any, *terms: Any) -> Any:
    return builder.fadd(*terms)


_COMBINE = {"add": _sum, "min": _chosen("<"), "max": _chosen(">")}


def atomic_float(operation: str, mask: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that combines a float with a value and returns the old value.

    SPIR-V's own instructions are extensions that not every device has, so this is a loop of compare-and-swap on the
    bits.

    Args:
        operation: ``"add"``, ``"min"`` or ``"max"``.
        mask: The memory order.
    """

    def typing(_address: Any, like: Any, value: Any, cond: Any) -> Any:
        dtype = like.dtype

        def emit(code: IntrinsicCode, address, _like, operand, _cond):
            context, builder, _signature = code
            integer = _bits(code, dtype)
            word, natural = context.get_value_type(integer), context.get_value_type(dtype)
            pointer, operand = code.pointer(address, word), code.cast(operand, 2, dtype)
            first = spirv_atomic(context, builder, "AtomicLoad", integer, [mask], [pointer])
            before, swap = builder.block, builder.append_basic_block("combine")
            builder.branch(swap)
            builder.position_at_end(swap)
            old = builder.phi(word)
            combined = builder.bitcast(_COMBINE[operation](builder, builder.bitcast(old, natural), operand), word)
            values = [pointer, combined, old]
            seen = spirv_atomic(context, builder, "AtomicCompareExchange", integer, [mask, mask], values)
            old.add_incoming(first, before)
            old.add_incoming(seen, swap)
            done = builder.append_basic_block("combined")
            builder.cbranch(builder.icmp_unsigned("==", seen, old), done, swap)
            builder.position_at_end(done)
            return builder.bitcast(seen, natural)

        return dtype(types.int64, like, value, cond), emit

    return device_intrinsic(typing)


def _word(name: str, mask: int) -> Any:
    """Make an intrinsic ``(address, *operands)`` for an atomic on the int64 at an address."""

    def emit(code: IntrinsicCode, address, *operands):
        values = [code.pointer(address, I64), *operands]
        result = spirv_atomic(code.context, code.builder, name, types.int64, [mask], values)
        return None if name == "AtomicStore" else result

    if name == "AtomicLoad":
        return device_intrinsic(lambda address: (types.int64(types.int64), emit))
    result = types.void if name == "AtomicStore" else types.int64
    return device_intrinsic(lambda address, value: (result(types.int64, types.int64), emit))


atomic_load_word = _word("AtomicLoad", memory_orders.RECORD)
atomic_store_word = _word("AtomicStore", memory_orders.RECORD)
atomic_store_flag = _word("AtomicStore", memory_orders.FLAG)
atomic_exchange_word = _word("AtomicExchange", memory_orders.RECORD)
atomic_add_word = _word("AtomicIAdd", memory_orders.RECORD)


@device_intrinsic
def atomic_load(address, like):
    """Return the element of the dtype of ``like`` at an address, by a SPIR-V atomic instruction."""
    return like.dtype(types.int64, like), _instruction("AtomicLoad", (memory_orders.AMO,), like.dtype, 0)


def memory_fence(order: memory_orders.Order) -> Any:
    """Make an intrinsic that is a memory fence with cross-device scope, which includes the host."""

    def emit(code: IntrinsicCode):
        operands = [I32(CROSS_DEVICE), I32(order | CROSS_WORKGROUP)]
        spirv_call(code.builder, "MemoryBarrier", SCOPE_AND_MASK, ir.VoidType(), operands)

    return device_intrinsic(lambda: (types.void(), emit))
