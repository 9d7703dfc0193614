"""Intrinsics for atomic instructions and memory fences in kernels.

Atomics are SPIR-V instructions with cross-device scope on integers of the element's width. Floats are bit-cast, so one
implementation serves all dtypes; sums, minima and maxima of floats are loops of compare-and-swap.
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
    """Return the integer type with the width of an element of ``dtype``: int32 or int64."""
    return types.int32 if size_in(code, dtype) == 4 else types.int64


def spirv_atomic(context: Any, builder: Any, name: str, integer: Any, middle: list[Any], values: list[Any]) -> Any:
    """Emit SPIR-V atomic instruction ``name`` on an element of numba type ``integer``; return its result.

    ``values`` are the LLVM values of the pointer and the operands; ``middle`` has the memory semantics, one for each
    order that the instruction takes. The scope is cross-device.
    """
    result = ir.VoidType() if name == "AtomicStore" else context.get_value_type(integer)
    mangled = [types.CPointer(integer, addrspace=GLOBAL), SCOPE_AND_MASK[0]]
    mangled += [SCOPE_AND_MASK[1]] * len(middle) + [integer] * (len(values) - 1)
    arguments = [values[0], I32(CROSS_DEVICE), *(I32(mask | CROSS_WORKGROUP) for mask in middle), *values[1:]]
    return spirv_call(builder, name, mangled, result, arguments)


def _instruction(name: str, masks: tuple[int, ...], dtype: Any, operands: int) -> Callable[..., Any]:
    """Return the function that emits a SPIR-V atomic on an element, with the first ``operands`` of its values."""

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
    """Make the intrinsic ``(address, like, value, cond)`` of SPIR-V atomic instruction ``name``; it returns the result.

    It acts on the element at ``address``, of the dtype of the array ``like``. ``masks`` are the memory semantics. Of
    ``value`` and ``cond``, the instruction takes the first ``operands``.
    """

    def typing(address: Any, like: Any, value: Any, cond: Any) -> Any:
        return like.dtype(types.int64, like, value, cond), _instruction(name, masks, like.dtype, operands)

    return device_intrinsic(typing)


Combine = Callable[[Any, Any, Any], Any]
"""Function ``(builder, old, value)`` that emits the combination of two floats and returns the result."""


def _chosen(comparison: str) -> Combine:
    """Return the `Combine` that selects ``value`` if it is NaN or if ``value <comparison> old`` holds, else ``old``."""

    def combine(builder: Any, old: Any, value: Any) -> Any:
        changes = builder.or_(builder.fcmp_ordered(comparison, value, old), builder.fcmp_unordered("uno", value, value))
        return builder.select(changes, value, old)

    return combine


def _sum(builder: Any, *terms: Any) -> Any:
    return builder.fadd(*terms)


_COMBINE = {"add": _sum, "min": _chosen("<"), "max": _chosen(">")}


def atomic_float(operation: str, mask: int) -> Any:
    """Make an intrinsic ``(address, like, value, cond)`` that combines a float with ``value``; it returns the old one.

    The float is at ``address``, of the dtype of ``like``; ``cond`` is unused. SPIR-V's own instructions are extensions
    that not every device has, so this is a loop of compare-and-swap on the bits. With ``"min"`` and ``"max"``, a NaN
    ``value`` is stored.

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
    """Make the intrinsic ``(address, *operands)`` of SPIR-V atomic ``name`` on an int64; it returns its result."""

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
    """Make the intrinsic of a memory fence of an ``order`` with cross-device scope, which includes the host."""

    def emit(code: IntrinsicCode):
        operands = [I32(CROSS_DEVICE), I32(order | CROSS_WORKGROUP)]
        spirv_call(code.builder, "MemoryBarrier", SCOPE_AND_MASK, ir.VoidType(), operands)

    return device_intrinsic(lambda: (types.void(), emit))
