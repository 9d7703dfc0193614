"""Type rules and code of `kernel_api.AtomicRef` in kernels."""

from __future__ import annotations

from typing import Any, Callable

from numba.core import cgutils, types
from numba.core.errors import TypingError

from ..compile.spirv_calls import I1, I32, VOID, call
from ..compile.types import GENERIC, AtomicRefType, USMNdArray
from ..kernel_api import AddressSpace, AtomicRef
from . import indexing
from .barriers import ACQUIRE, ACQUIRE_RELEASE, ALL_MEMORY, RELAXED, RELEASE, literal, order_of, scope_of
from .extending import add_function, add_method

_INTEGERS = (types.int32, types.uint32, types.int64, types.uint64)
_FLOATS = (types.float32, types.float64)
_SIGNED, _UNSIGNED, _FLOATING = range(3)

_UPDATES = {
    "fetch_add": ("AtomicIAdd", "AtomicIAdd", "AtomicFAddEXT"),
    "fetch_sub": ("AtomicISub", "AtomicISub", "AtomicFAddEXT"),
    "fetch_min": ("AtomicSMin", "AtomicUMin", "AtomicFMinEXT"),
    "fetch_max": ("AtomicSMax", "AtomicUMax", "AtomicFMaxEXT"),
    "fetch_and": ("AtomicAnd", "AtomicAnd", None),
    "fetch_or": ("AtomicOr", "AtomicOr", None),
    "fetch_xor": ("AtomicXor", "AtomicXor", None),
}
"""The SPIR-V instructions of the methods, for signed integers, unsigned integers and floats."""


def semantics_of(ref: AtomicRefType, order: int | None = None) -> Any:
    """Return the SPIR-V memory semantics for ``order``, by default that of the reference; it orders all memory."""
    order = order_of(ref.memory_order) if order is None else order
    return I32(order | ALL_MEMORY if order else RELAXED)


def _same_dtype(ref: AtomicRefType, val: Any, what: str) -> None:
    if val != ref.dtype and not (isinstance(val, types.IntegerLiteral) and isinstance(ref.dtype, types.Integer)):
        raise TypingError(
            f"Type of value to {what}: {val} does not match the type of the reference: {ref.dtype} stored in the "
            f"atomic ref; convert it, as in numpy.{ref.dtype}(value)"
        )


class _Atomic:
    """Emits an atomic instruction on the element of a reference.

    Args:
        context: The target context.
        builder: The builder.
        ref: The type of the reference.
        value: The LLVM value of the reference.
        moves: Whether the instruction only moves bits, so that its operand is an integer as wide as the element.
    """

    def __init__(self, context: Any, builder: Any, ref: AtomicRefType, value: Any, *, moves: bool = True) -> None:
        self.context, self.builder, self.ref = context, builder, ref
        self.kind = (types.int32 if ref.dtype.bitwidth == 32 else types.int64) if moves else ref.dtype
        self.word = context.get_value_type(self.kind)
        pointer = cgutils.create_struct_proxy(ref)(context, builder, value).ref
        self.pointer = builder.bitcast(pointer, self.word.as_pointer(ref.address_space))

    def bits(self, value: Any, kind: Any) -> Any:
        """Emit the operand of the instruction for a value of type ``kind``."""
        return self.builder.bitcast(self.context.cast(self.builder, value, kind, self.ref.dtype), self.word)

    def call(self, name: str, semantics: list[Any], *values: Any, result: Any = None) -> Any:
        """Emit a SPIR-V instruction with its memory semantics and operands; return its value, by default a word."""
        kinds = [types.CPointer(self.kind, addrspace=self.ref.address_space), types.int32]
        kinds += [types.int32] * len(semantics) + [self.kind] * len(values)
        words = [self.pointer, I32(scope_of(self.ref.memory_scope)), *semantics, *values]
        return call(self.builder, f"__spirv_{name}", result or self.word, kinds, words, convergent=True)

    def element(self, bits: Any) -> Any:
        """Emit the conversion of an instruction's result to the element's type."""
        return self.builder.bitcast(bits, self.context.get_value_type(self.ref.dtype))


def _update(method: str) -> Callable[..., Any]:
    """Return the rule of a method that updates the element and returns its old value."""

    def rule(ref: Any, val: Any) -> Any:
        dtype = ref.dtype
        _same_dtype(ref, val, method.removeprefix("fetch_"))
        kind = _FLOATING if dtype in _FLOATS else _SIGNED if dtype.signed else _UNSIGNED
        name = _UPDATES[method][kind]
        if name is None:
            raise TypingError(f"{method} operation only supported on int32 and int64 dtypes, got {dtype}.")

        def emit(context: Any, builder: Any, arguments: Any) -> Any:
            value = context.cast(builder, arguments[1], val, dtype)
            if method == "fetch_sub" and kind == _FLOATING:
                value = builder.fneg(value)
            return _Atomic(context, builder, ref, arguments[0], moves=False).call(name, [semantics_of(ref)], value)

        return dtype, emit

    return rule


def _load(ref: Any) -> Any:
    # A load has nothing to release.
    order = {RELEASE: RELAXED, ACQUIRE_RELEASE: ACQUIRE}.get(order_of(ref.memory_order))

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        atomic = _Atomic(context, builder, ref, arguments[0])
        return atomic.element(atomic.call("AtomicLoad", [semantics_of(ref, order)]))

    return ref.dtype, emit


def _store(ref: Any, val: Any) -> Any:
    _same_dtype(ref, val, "store")
    # A store has nothing to acquire.
    order = {ACQUIRE: RELAXED, ACQUIRE_RELEASE: RELEASE}.get(order_of(ref.memory_order))

    def emit(context: Any, builder: Any, arguments: Any) -> None:
        atomic = _Atomic(context, builder, ref, arguments[0])
        atomic.call("AtomicStore", [semantics_of(ref, order)], atomic.bits(arguments[1], val), result=VOID)

    return types.void, emit


def _exchange(ref: Any, val: Any) -> Any:
    _same_dtype(ref, val, "exchange")

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        atomic = _Atomic(context, builder, ref, arguments[0])
        return atomic.element(atomic.call("AtomicExchange", [semantics_of(ref)], atomic.bits(arguments[1], val)))

    return ref.dtype, emit


def _compare_exchange(ref: Any, expected: Any, desired: Any, expected_idx: Any) -> Any:
    if not isinstance(expected, USMNdArray) or expected.dtype != ref.dtype:
        raise TypingError(
            f"compare_exchange: expected_ref[expected_idx] is a {ref.dtype}, got {expected}; "
            "its type does not match the type of the reference"
        )
    _check_index(expected, expected_idx)
    _same_dtype(ref, desired, "compare_exchange")

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        place, fits = _element(context, builder, expected, arguments[1], expected_idx, arguments[3])
        new = context.cast(builder, arguments[2], desired, ref.dtype)

        def exchange() -> Any:
            return _exchanged_if_equal(_Atomic(context, builder, ref, arguments[0]), new, place)

        checked = context.checks_bounds
        return indexing.value_if(context, builder, fits, types.boolean, exchange) if checked else exchange()

    return types.boolean, emit


def _exchanged_if_equal(atomic: _Atomic, new: Any, place: Any) -> Any:
    """Emit an exchange if the element equals the value at ``place``, else copy it there; return whether it is equal."""
    builder, ref = atomic.builder, atomic.ref
    wanted = builder.bitcast(builder.load(place), atomic.word)
    order = order_of(ref.memory_order)
    failed = {RELEASE: RELAXED, ACQUIRE_RELEASE: ACQUIRE}.get(order, order)  # a failed exchange stores nothing
    semantics = [semantics_of(ref), semantics_of(ref, failed)]
    old = atomic.call("AtomicCompareExchange", semantics, builder.bitcast(new, atomic.word), wanted)
    swapped = builder.icmp_unsigned("==", old, wanted)
    with builder.if_then(builder.not_(swapped)):
        builder.store(builder.bitcast(old, place.type.pointee), place)
    return swapped


def _element(context: Any, builder: Any, kind: USMNdArray, array: Any, index: Any, at: Any) -> tuple[Any, Any]:
    """Return the pointer to an element, and whether its index is in bounds; True if bounds are not checked.

    ``at`` is the LLVM value of the index; ``index`` is its type, or the index itself if it is a Python integer.
    """
    kinds, parts = (index,), (at,)
    if isinstance(index, types.BaseTuple):
        kinds, parts = tuple(index), cgutils.unpack_tuple(builder, at)
    indices = [
        context.get_constant(types.intp, its) if isinstance(its, int) else context.cast(builder, part, its, types.intp)
        for part, its in zip(parts, kinds)
    ]
    fits: Any = I1(1)
    if context.checks_bounds:
        fits = indexing.all_inside(context, builder, kind, array, [types.intp] * len(indices), indices)
    whole = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, whole, indices, wraparound=True), fits


def _unless_outside(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method's rule with a check: for a reference out of bounds, it does nothing and returns 0."""

    def checked(ref: Any, *given: Any) -> Any:
        result, emit = rule(ref, *given)

        def guarded(context: Any, builder: Any, arguments: Any) -> Any:
            if not context.checks_bounds:
                return emit(context, builder, arguments)
            fits = cgutils.create_struct_proxy(ref)(context, builder, arguments[0]).fits
            return indexing.value_if(context, builder, fits, result, lambda: emit(context, builder, arguments))

        return result, guarded

    return checked


_NOT_PRIVATE = "atomics are for global and local memory"


def _atomic_ref(ref: Any, index: Any, memory_order: Any, memory_scope: Any, address_space: Any) -> Any:
    _check_ref(ref, index)
    space = ref.addrspace
    if space == AddressSpace.PRIVATE:  # before numba tries again without literals
        raise TypingError(f"Cannot create an AtomicRef from an array in private memory: {_NOT_PRIVATE}")
    if address_space is not None and address_space is not types.none:
        space = literal("Address space argument to AtomicRef constructor", address_space)
    if space == AddressSpace.PRIVATE:
        raise TypingError(f"Unsupported address space value {space}: {_NOT_PRIVATE}")
    if space not in (ref.addrspace, GENERIC):
        raise TypingError(
            f"The address_space specified via the AtomicRef constructor {space} does not match the address space "
            f"{ref.addrspace} of the referred object for which the AtomicRef is to be constructed."
        )
    order = literal("Memory order argument to AtomicRef constructor", memory_order)
    scope = literal("Memory scope argument to AtomicRef constructor", memory_scope)
    order_of(order), scope_of(scope)
    kind = AtomicRefType(ref.dtype, order, scope, ref.addrspace)

    def emit(context: Any, builder: Any, arguments: Any) -> Any:
        proxy = cgutils.create_struct_proxy(kind)(context, builder)
        proxy.ref, proxy.fits = _element(context, builder, ref, arguments[0], index, arguments[1])
        return proxy._getvalue()

    return kind, emit


def _check_ref(ref: Any, index: Any) -> None:
    if not isinstance(ref, USMNdArray):
        raise TypingError(f"Cannot create an AtomicRef from {ref}: it refers to an element of an array")
    if ref.dtype not in (*_INTEGERS, *_FLOATS):
        allowed = ", ".join(map(str, (*_INTEGERS, *_FLOATS)))
        raise TypingError(f"Cannot create an AtomicRef of elements of type {ref.dtype}, allowed: {allowed}")
    _check_index(ref, index)


def _check_index(array: Any, index: Any) -> None:
    count = len(index) if isinstance(index, types.BaseTuple) else 1
    if count != array.ndim:
        raise TypingError(f"AtomicRef takes an index for each dimension: got {count} for an array of {array.ndim}")


for _method in _UPDATES:
    add_method(AtomicRefType, getattr(AtomicRef, _method), _unless_outside(_update(_method)))
add_method(AtomicRefType, AtomicRef.load, _unless_outside(_load))
add_method(AtomicRefType, AtomicRef.store, _unless_outside(_store))
add_method(AtomicRefType, AtomicRef.exchange, _unless_outside(_exchange))
add_method(AtomicRefType, AtomicRef.compare_exchange, _unless_outside(_compare_exchange))
add_function(AtomicRef, _atomic_ref)
