"""Intrinsics for device code: addresses, loads, stores, group operations and work-item ids.

Addresses are plain 64-bit integers.
"""

from __future__ import annotations

import collections
import functools
import inspect
import weakref
from collections.abc import Sequence
from types import FunctionType
from typing import Any, Callable, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from ishmem.common import violations
from ishmem.dpex.extension import Origin
from ishmem.runtime import kernel_constants

from . import memory_orders
from .front_end import SPIR_FUNC, TARGET, GroupType, SubGroupType, built_in, mangle, sub_group_place

GLOBAL = 1  # the address space of device memory
CROSS_DEVICE, WORK_GROUP, SUB_GROUP = 0, 2, 3  # SPIR-V scopes
REDUCE, EXCLUSIVE_SCAN = 0, 2  # SPIR-V group operations
CROSS_WORKGROUP = 0x200  # SPIR-V memory semantics: applies to global memory
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

SCOPE_AND_MASK = ["__spv.Scope.Flag", "__spv.MemorySemanticsMask.Flag"]


class IntrinsicCode(NamedTuple):
    """The target, LLVM's builder and the signature of the call, with which an intrinsic emits code."""

    context: Any
    builder: Any
    signature: Any

    def cast(self, value: Any, place: int, kind: Any) -> Any:
        """Emit the conversion of ``value``, argument number ``place``, to type ``kind``; return the result."""
        return self.context.cast(self.builder, value, self.signature.args[place], kind)

    def pointer(self, address: Any, kind: Any) -> Any:
        """Emit a pointer to an element of LLVM type ``kind`` in device memory, from its address."""
        return self.builder.inttoptr(address, kind.as_pointer(GLOBAL))

    def array(self, kind: Any, value: Any = None) -> Any:
        """Return the fields of an array of type ``kind``: of ``value``, or of a new array."""
        made = self.context.make_array(kind)
        return made(self.context, self.builder) if value is None else made(self.context, self.builder, value)

    def tuple_of(self, values: Any) -> Any:
        """Emit the tuple of the values, in the type that the intrinsic returns."""
        return self.context.make_tuple(self.builder, self.signature.return_type, values)

    def zero(self) -> Any:
        """Return zero in the type that the intrinsic returns."""
        return self.context.get_constant_null(self.signature.return_type)


def device_intrinsic(function: Callable[..., Any]) -> Any:
    """Make an intrinsic for the device target: a function whose code is emitted where a kernel calls it.

    Args:
        function: Takes the types of the arguments, and returns the signature and ``emit(code, *values)``, which emits
            a call into an `IntrinsicCode` and returns the result; None for no result.
    """

    def typing(_context: Any, *kinds: Any) -> Any:
        signature, emit = function(*kinds)

        def lower(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            result = emit(IntrinsicCode(context, builder, signature), *values)
            return context.get_dummy_value() if result is None else result

        return signature, lower

    parameters = inspect.signature(function).parameters.values()
    first = inspect.Parameter("_context", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    functools.update_wrapper(typing, function)
    typing.__signature__ = inspect.Signature([first, *parameters])  # type: ignore[attr-defined]
    return intrinsic(target=TARGET)(typing)


registered: dict[Callable[..., Any], Callable[..., Any]] = {}
"""The device implementations, by the host functions that kernels can call too."""


def _refusal(name: str) -> Callable[..., Any]:
    """Return the implementation of a routine for host code compiled by numba; it raises ``TypingError``."""

    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise TypingError(
            f"ishmem.{name} is called from Python or in a kernel, not in code that numba compiles for the host (njit, "
            "dpjit, prange); dpjit may launch a kernel that calls it, by call_kernel"
        )

    return refuse


origins: weakref.WeakKeyDictionary[Callable[..., Any], Origin] = weakref.WeakKeyDictionary()
"""The origin of each implementation of a device function."""

_registered_by_name: collections.Counter[str] | None = collections.Counter()
"""Number of registrations of each name, since a factory's functions share one; None after `end_registration`."""


def end_registration() -> None:
    """Stop recording the origins of device functions: those made later may differ between processes."""
    global _registered_by_name
    _registered_by_name = None


def _recorded(choose: Callable[..., Any], routine: str = "") -> Callable[..., Any]:
    """Return ``choose`` that also records the origin of its result, and raises ``TypingError`` outside a job.

    The origin's name has the function and its ``routine``; without a routine, its position among the functions of that
    name, which depends on its own module only.
    """
    base, name = f"{choose.__module__}.{choose.__qualname__}", ""
    if _registered_by_name is not None:
        name = f"{base} {routine or _registered_by_name[base]}"
        _registered_by_name[base] += 1

    @functools.wraps(choose)
    def recorded(*arguments: Any, **named: Any) -> Any:
        kernel_constants.options()  # the constants of ``kernels.options`` have values in a job only
        implementation = choose(*arguments, **named)
        if implementation is not None and arguments and not implementation.__code__.co_argcount:
            parameters = inspect.signature(choose).parameters
            implementation = written(choose, [*parameters.values()], [f"return {implementation()}"], {})
        if name and implementation is not None:
            origins[implementation] = Origin(name, arguments, named)
        return implementation

    return recorded


def written(
    like: Callable[..., Any], parameters: Sequence[inspect.Parameter], lines: Sequence[str], scope: dict[str, Any]
) -> Callable[..., Any]:
    """Return a function with these parameters and ``lines`` of code, evaluated in ``scope``, with the name of ``like``.

    numba requires named parameters, so the function is made from text.
    """
    text = [f"def {like.__name__}({', '.join(each.name for each in parameters)}):", *(f" {line}" for line in lines)]
    exec(compile("\n".join(text), __file__, "exec"), scope)
    made: FunctionType = scope[like.__name__]
    made.__defaults__ = tuple(each.default for each in parameters if each.default is not each.empty)
    made.__module__, made.__qualname__, made.__doc__ = like.__module__, like.__qualname__, like.__doc__
    return made


def device(host: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Register the decorated function as the device implementation of ``host``."""

    def register(implementation: Callable[..., Any]) -> Any:
        registered[host] = implementation
        if "group" in inspect.signature(implementation).parameters:
            implementation = _of_group(host.__name__, implementation)
        overload(host, target="cpu")(_refusal(host.__name__))  # dpjit looks there, too
        return overload(host, target=TARGET)(_recorded(implementation, host.__name__))

    return register


group_checks: list[Callable[[int, Callable[..., Any]], Callable[..., Any]]] = []
"""Functions ``(routine number, implementation)`` that return the implementation of a group routine with checks."""


def _of_group(routine: str, choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``choose`` with a check of the type of ``group``, and with `group_checks` applied to its result."""
    kinds, signature, number = (GroupType, SubGroupType), inspect.signature(choose), violations.routine_number(routine)
    for name in signature.parameters:
        violations.argument_number(name)

    @functools.wraps(choose)
    def checked(*arguments: Any, **named: Any) -> Any:
        group = signature.bind(*arguments, **named).arguments["group"]
        words = f"{routine}: group is item.get_group() of an NdItem"
        require(isinstance(group, kinds), f"{words}, got {group}")
        implementation = choose(*arguments, **named)
        for add in group_checks if implementation else ():
            implementation = add(number, implementation)
        return implementation

    return checked


def device_function(choose: Callable[..., Any]) -> Any:
    """Make a device function whose implementation is chosen by the argument types.

    Args:
        choose: Takes the types and returns the implementation, a function with the same parameters, or one without
            parameters that returns a constant. The name, signature and docstring of ``choose`` become those of the
            device function.
    """

    def stub(*_arguments: Any) -> Any:
        """Give numba a name to overload; never runs."""

    functools.update_wrapper(stub, choose)
    overload(stub, target=TARGET)(_recorded(choose))
    return stub


def compiled(function: Callable[..., Any]) -> Any:
    """Make a device function whose implementation does not depend on the types of its arguments.

    All integer arguments share one compilation; ``device_func`` compiles again for each integer literal.
    """

    def choose(*_arguments: Any) -> Any:
        return function

    return device_function(functools.update_wrapper(choose, function))


@device_intrinsic
def address_of(array: Any) -> Any:
    """Return the address of an array's first element."""

    return types.int64(array), lambda code, value: code.builder.ptrtoint(code.array(array, value).data, I64)


@device_intrinsic
def item_bytes(array):
    """Return the size in bytes of an element of an array, or of a scalar, as a compile-time constant.

    ``array.itemsize`` is not constant. With a constant, index to offset is a shift: a Max has no 64-bit multiplication.
    """
    return types.int64(array), lambda code, _array: I64(size_in(code, getattr(array, "dtype", array)))


def size_in(code: IntrinsicCode, kind: Any) -> int:
    """Return the size in bytes of an element of numba type ``kind`` in device memory, by the target of ``code``."""
    return int(code.context.get_abi_sizeof(code.context.get_data_type(kind)))


@device_intrinsic
def zero_of(array):
    """Return zero in the dtype of an array, or of a scalar."""
    return getattr(array, "dtype", array)(array), lambda code, _array: code.zero()


@device_intrinsic
def at_address(array: Any, address: Any) -> Any:
    """Return a view with the shape, strides and dtype of ``array`` whose first element is at ``address``."""

    def emit(code: IntrinsicCode, value, address):
        new = code.array(array)
        cgutils.copy_struct(new, code.array(array, value))
        new.data = code.builder.inttoptr(address, new.data.type)
        return new._getvalue()

    return array(array, types.int64), emit


@device_intrinsic
def without_elements(array: Any) -> Any:
    """Return an array of the type of ``array`` without elements and memory."""

    def emit(code: IntrinsicCode, value):
        new = code.array(array)
        cgutils.copy_struct(new, code.array(array, value))
        new.data, new.nitems = cgutils.get_null_value(new.data.type), I64(0)
        if array.ndim:
            new.shape = cgutils.pack_array(code.builder, [I64(0)] * array.ndim)
        return new._getvalue()

    return array(array), emit


WORDS = {8: types.uint8, 16: types.uint16, 32: types.uint32, 64: types.uint64, 128: types.complex128}
"""A type for each width of elements, in bits."""


def _word_like(dtype: Any) -> Any:
    return WORDS.get(8 if dtype == types.boolean else getattr(dtype, "bitwidth", 0), dtype)


@device_intrinsic
def as_words(array):
    """Return an array on the same memory whose elements are words of the same width, of one axis if it is contiguous.

    Code that only moves elements is then compiled once for each width, not for each dtype and number of axes.
    """
    flat = array.layout == "C" and array.ndim > 1

    def emit(code: IntrinsicCode, value):
        old, new = code.array(array, value), code.array(code.signature.return_type)
        changed = {"data": code.builder.bitcast(old.data, new.data.type)}
        if flat:
            changed["shape"] = cgutils.pack_array(code.builder, [old.nitems])
            changed["strides"] = cgutils.pack_array(code.builder, [old.itemsize])
        cgutils.copy_struct(new, old, repl=changed)
        return new._getvalue()

    return array.copy(dtype=_word_like(array.dtype), ndim=1 if flat else array.ndim)(array), emit


def _element_at(code: IntrinsicCode, address: Any, dtype: Any) -> Any:
    """Emit the pointer to an element of a dtype."""
    return code.pointer(address, code.context.get_data_type(dtype))


@device_intrinsic
def load(address: Any, like: Any) -> Any:
    """Return the element at an address, in the dtype of the array or scalar ``like``."""
    dtype = getattr(like, "dtype", like)

    def emit(code: IntrinsicCode, address, _like):
        return code.context.unpack_value(code.builder, dtype, _element_at(code, address, dtype))

    return dtype(types.int64, like), emit


@device_intrinsic
def store(address: Any, like: Any, value: Any) -> Any:
    """Store ``value`` at an address, as an element of the dtype of the array or scalar ``like``."""
    dtype = getattr(like, "dtype", like)

    def emit(code: IntrinsicCode, *values):
        pointer = _element_at(code, values[0], dtype)
        code.context.pack_value(code.builder, dtype, code.cast(values[2], 2, dtype), pointer)

    return types.void(types.int64, like, value), emit


@device_intrinsic
def load_element(base: Any, index: Any, like: Any) -> Any:
    """Return element ``index`` of the array that begins at address ``base``, in the dtype of array ``like``.

    The index is added by the load itself, so the compiler computes the base address once per loop, or once per hardware
    thread.
    """

    def emit(code: IntrinsicCode, *values):
        return code.context.unpack_value(code.builder, like.dtype, _indexed(code, values, like.dtype))

    return like.dtype(types.int64, index, like), emit


@device_intrinsic
def store_element(base: Any, index: Any, like: Any, value: Any) -> Any:
    """Store ``value`` as element ``index`` of the array of ``like``'s dtype at address ``base``; see `load_element`."""

    def emit(code: IntrinsicCode, *values):
        pointer = _indexed(code, values, like.dtype)
        code.context.pack_value(code.builder, like.dtype, code.cast(values[3], 3, like.dtype), pointer)

    return types.void(types.int64, index, like, value), emit


def _indexed(code: IntrinsicCode, values: Any, dtype: Any) -> Any:
    """Emit the pointer to an element of a dtype; ``values`` begin with the base address and the index."""
    index = code.cast(values[1], 1, types.int64)
    return code.builder.gep(_element_at(code, values[0], dtype), [index])


@device_intrinsic
def bytes_of(elements: Any) -> Any:
    """Return the size in bytes of a tuple of elements, as a compile-time constant."""
    return types.int64(elements), lambda code, _elements: I64(elements.count * size_in(code, elements.dtype))


@device_intrinsic
def copy_word(word: Any, to: Any, origin: Any) -> Any:
    """Copy a word, a tuple of integers, from ``origin`` to ``to`` by one load and store; both aligned to its size."""
    size = word.count * word.dtype.bitwidth // 8
    moved = ir.VectorType(I32, size // 4) if size > 8 else ir.IntType(8 * size)

    def emit(code: IntrinsicCode, *values):
        value = code.builder.load(code.pointer(values[2], moved), align=size)
        code.builder.store(value, code.pointer(values[1], moved), align=size)

    return types.void(word, types.int64, types.int64), emit


@device_intrinsic
def copy_words(count: Any, unit: Any, to: Any, origin: Any) -> Any:
    """Copy ``count`` units of ``unit`` bytes (literals) as `copy_word` does; all are loaded before one is stored."""
    number, size = literal_value(count), literal_value(unit)
    word = ir.VectorType(I32, size // 4)

    def emit(code: IntrinsicCode, *given):
        builder, to, origin = code.builder, *(code.pointer(address, word) for address in given[2:])
        values = [builder.load(builder.gep(origin, [I64(i)]), align=size) for i in range(number)]
        for i, value in enumerate(values):
            builder.store(value, builder.gep(to, [I64(i)]), align=size)

    return types.void(count, unit, types.int64, types.int64), emit


@device_intrinsic
def load_word(address: Any) -> Any:
    """Load the int64 at an address by a plain load, ordered only by earlier fences and atomics."""
    return types.int64(types.int64), lambda code, address: code.builder.load(code.pointer(address, I64))


@device_intrinsic
def store_word(address: Any, value: Any) -> Any:
    """Store the int64 ``value`` at an address by a plain store, which the next release publishes."""

    def emit(code: IntrinsicCode, address, value):
        code.builder.store(value, code.pointer(address, I64))

    return types.void(types.int64, types.int64), emit


class VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    """A volatile load in LLVM's IR: the compiler neither removes nor repeats it."""

    def descr(self, buf: list[str]) -> None:
        """Append the text of the instruction to ``buf``."""
        super().descr(buf)
        buf[-1] = buf[-1].replace("load ", "load volatile ", 1)


class VolatileStore(ir.instructions.StoreInstr):  # type: ignore[misc]
    """A volatile store in LLVM's IR: the compiler neither removes nor repeats it."""

    def descr(self, buf: list[str]) -> None:
        """Append the text of the instruction to ``buf``."""
        super().descr(buf)
        buf[-1] = buf[-1].replace("store ", "store volatile ", 1)


def emit_volatile_load(builder: Any, pointer: Any) -> Any:
    """Emit a volatile load of an integer from an LLVM pointer; return the integer."""
    loaded = VolatileLoad(builder.block, pointer)
    loaded.align = loaded.type.width // 8
    builder._insert(loaded)
    return loaded


def emit_volatile_store(builder: Any, value: Any, pointer: Any) -> None:
    """Emit a volatile store of the int64 ``value`` to an LLVM pointer."""
    stored = VolatileStore(builder.block, value, pointer)
    stored.align = 8
    builder._insert(stored)


@device_intrinsic
def load_volatile(address):
    """Return the int64 at an address by a volatile load."""
    return types.int64(types.int64), lambda code, address: emit_volatile_load(code.builder, code.pointer(address, I64))


@device_intrinsic
def store_volatile(address, value):
    """Store the int64 ``value`` at an address by a volatile store."""

    def emit(code: IntrinsicCode, address, value):
        emit_volatile_store(code.builder, value, code.pointer(address, I64))

    return types.void(types.int64, types.int64), emit


@device_intrinsic
def store_tuple_volatile(address, values):
    """Store ``values``, a tuple of int64, one after another from an address on, each by a volatile store."""

    def emit(code: IntrinsicCode, address, words):
        for number, word in enumerate(cgutils.unpack_tuple(code.builder, words)):
            place = code.builder.add(address, I64(8 * number))
            emit_volatile_store(code.builder, word, code.pointer(place, I64))

    return types.void(types.int64, values), emit


@device_intrinsic
def opaque(value: Any) -> Any:
    """Return ``value``, hidden from the optimizer, which then moves no code across a loop exit that depends on it."""

    def emit(code: IntrinsicCode, hidden):
        place = cgutils.alloca_once(code.builder, I64)
        emit_volatile_store(code.builder, code.cast(hidden, 0, types.int64), place)
        return emit_volatile_load(code.builder, place)

    return types.int64(value), emit


def spirv_call(builder: Any, name: str, kinds: list[Any], result: Any, arguments: list[Any]) -> Any:
    """Emit a call of SPIR-V function ``name`` that compilers may not move, as it synchronizes; return its result.

    ``kinds`` are the types of the ``arguments`` in its mangled name, ``result`` is its LLVM type.
    """
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [each.type for each in arguments]), mangle(f"__spirv_{name}", kinds)
    )
    function.calling_convention = SPIR_FUNC
    function.attributes.add("convergent")
    function.attributes.add("nounwind")
    return builder.call(function, arguments, cconv=SPIR_FUNC)


@device_intrinsic
def group_barrier(group: Any) -> Any:
    """Wait for all work-items of a group, and order their accesses to global memory; a no-op if ``group`` is None.

    `kernel_api.group_barrier` also orders local memory by a fence, but no operation of ishmem uses local memory.
    """
    scope = SUB_GROUP if isinstance(group, SubGroupType) else WORK_GROUP

    def emit(code: IntrinsicCode, _group):
        operands = [I32(scope), I32(WORK_GROUP), I32(memory_orders.Order.SEQ_CST | CROSS_WORKGROUP)]
        if not isinstance(group, types.NoneType):
            spirv_call(code.builder, "ControlBarrier", [types.int32] * 3, ir.VoidType(), operands)

    return types.void(group), emit


def _narrow(builder: Any, component: Any) -> Any:
    """Emit a work-item id or group size modulo 2**32, by which compilers use 32-bit multiplication.

    Use it for one component only: from several, LLVM makes a vector of six 32-bit integers, which SPIR-V lacks.
    """
    return builder.zext(builder.trunc(component, I32), I64)


def _rank(builder: Any, ndim: int) -> Any:
    ids = built_in(builder, "LocalInvocationId")
    if ndim == 1:
        return _narrow(builder, ids[0])
    sizes, rank = built_in(builder, "WorkgroupSize"), ids[ndim - 1]
    for axis in reversed(range(ndim - 1)):
        rank = builder.add(ids[axis], builder.mul(sizes[axis], rank))
    return rank


def _size(builder: Any, ndim: int) -> Any:
    size, *others = built_in(builder, "WorkgroupSize")[:ndim]
    if ndim == 1:
        return _narrow(builder, size)
    for other in others:
        size = builder.mul(size, other)
    return size


def work_item_number(builder: Any) -> Any:
    """Emit an int64 that no other work-item of the launch has; return it."""
    x, y, z = built_in(builder, "GlobalInvocationId")
    return builder.add(x, builder.add(builder.shl(y, I64(21)), builder.shl(z, I64(42))))


@device_intrinsic
def work_item():
    """Return an int64 that no other work-item of the launch has."""
    return types.int64(), lambda code: work_item_number(code.builder)


def _place_in_group(part: int, emit_place: Callable[..., Any], alone: int) -> Any:
    """Make the intrinsic of part ``part`` of `sub_group_place`: ``emit_place`` for work-groups, ``alone`` for None."""

    def typing(group: Any) -> Any:
        def emit(code: IntrinsicCode, _group):
            if isinstance(group, SubGroupType):
                return sub_group_place(code.builder)[part]
            return emit_place(code.builder, group.ndim) if hasattr(group, "ndim") else I64(alone)

        return types.int64(group), emit

    return device_intrinsic(typing)


rank_in = _place_in_group(0, _rank, 0)
"""Return the linear id of this work-item in a group, a work-group or a sub-group; 0 if it is None."""

size_of = _place_in_group(1, _size, 1)
"""Return the number of work-items in a group, a work-group or a sub-group; 1 if it is None."""


def _summed(builder: Any, group: Any, name: str, kind: Any, number: Any, operation: int = REDUCE) -> Any:
    """Emit the sum, or the scan ``operation``, of numbers over the work-items of a group; return the result."""
    scope = SUB_GROUP if isinstance(group, SubGroupType) else WORK_GROUP
    kinds = [SCOPE_AND_MASK[0], "__spv.GroupOperation.Flag", kind]
    return spirv_call(builder, name, kinds, number.type, [I32(scope), I32(operation), number])


def _group_sum(name: str, kind: Any, operation: int = REDUCE) -> Any:
    """Make the intrinsic that sums values of a type over the work-items of a group."""

    def group_sum(group, value):
        def emit(code: IntrinsicCode, _group, number):
            return _summed(code.builder, group, name, kind, code.cast(number, 1, kind), operation)

        return kind(group, value), emit

    return device_intrinsic(group_sum)


group_sum = _group_sum("GroupIAdd", types.int64)
"""Return the sum of ``value`` over the work-items of the group, all of which must call.

It can broadcast a value from one work-item: the others pass 0. Groups may have any number of dimensions.
"""

group_exclusive_sum = _group_sum("GroupIAdd", types.int64, EXCLUSIVE_SCAN)
"""Return the sum of ``value`` over the work-items before this one in the group, all of which must call."""

group_float_sum = _group_sum("GroupFAdd", types.float32)
"""Return the float32 sum of ``value`` over the work-items of the group, all of which must call."""


@device_intrinsic
def from_one(group, value):
    """Return the integer or truth value of one work-item of a group to all; others pass 0. ``group`` may be None."""

    def emit(code: IntrinsicCode, _group, own):
        if isinstance(group, types.NoneType):
            return own
        number = _summed(code.builder, group, "GroupIAdd", types.int64, code.cast(own, 1, types.int64))
        return code.context.cast(code.builder, number, types.int64, value)

    return value(group, value), emit


def literal_value(kind: Any) -> int:
    """Return the value of ``kind``, a literal integer type; numba also tries other types, for which it raises.

    Raises:
        TypingError: The type has no value.
    """
    require(isinstance(kind, types.IntegerLiteral), f"an integer literal is needed, got {kind}")
    return int(kind.literal_value)


def require(condition: bool, message: str) -> None:
    """Raise an error that ends the compilation of a kernel, with the text ``message``, unless a condition holds.

    Raises:
        TypingError: ``condition`` does not hold.
    """
    if not condition:
        raise TypingError(message)
