"""Intrinsics for device code: addresses, loads, stores, group operations and work-item ids.

Addresses are plain 64-bit integers.
"""

from __future__ import annotations

import collections
import functools
import inspect
import weakref
from typing import Any, Callable

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

from ishmem.common import violations
from ishmem.dpex.extension import Origin
from ishmem.runtime import binding

from . import memory_orders
from .front_end import SPIR_FUNC, TARGET, GroupType, SubGroupType, built_in, mangle, sub_group_place

GLOBAL = 1  # the address space of device memory
CROSS_DEVICE, WORK_GROUP, SUB_GROUP = 0, 2, 3  # SPIR-V scopes
REDUCE, EXCLUSIVE_SCAN = 0, 2  # SPIR-V group operations
CROSS_WORKGROUP = 0x200  # SPIR-V memory semantics: applies to global memory
I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)

SCOPE_AND_MASK = ["__spv.Scope.Flag", "__spv.MemorySemanticsMask.Flag"]


def device_intrinsic(function: Callable[..., Any]) -> Any:
    """Make ``function`` a numba intrinsic for the device target."""
    return intrinsic(target=TARGET)(function)


registered: dict[Callable[..., Any], Callable[..., Any]] = {}
"""Host functions that kernels can call too."""


def _refusal(name: str) -> Callable[..., Any]:
    """Return the implementation of a host function in code that numba compiles for the host: an error."""

    def refuse(*_arguments: Any, **_named: Any) -> Any:
        raise TypingError(
            f"ishmem.{name} is called from Python or in a kernel, not in code that numba compiles for the host (njit, "
            "dpjit, prange); dpjit may launch a kernel that calls it, by call_kernel"
        )

    return refuse


origins: weakref.WeakKeyDictionary[Callable[..., Any], Origin] = weakref.WeakKeyDictionary()
"""The origin of each implementation of a device function."""

_registered_by_name: collections.Counter[str] | None = collections.Counter()
"""How often each name has been registered: the functions that one factory makes have one name."""


def end_registration() -> None:
    """Stop recording the origins of device functions: what is made later may differ between processes."""
    global _registered_by_name
    _registered_by_name = None


def _recorded(choose: Callable[..., Any], routine: str = "") -> Callable[..., Any]:
    """Return ``choose`` that also records the origin of what it returns, and raises ``TypingError`` outside a job.

    The origin is named after the function and the ``routine`` that it implements; without a routine, its place among
    those of this name counts, which its own module decides.
    """
    base, name = f"{choose.__module__}.{choose.__qualname__}", ""
    if _registered_by_name is not None:
        name = f"{base} {routine or _registered_by_name[base]}"
        _registered_by_name[base] += 1

    @functools.wraps(choose)
    def recorded(*arguments: Any, **named: Any) -> Any:
        binding.options()  # the constants of ``kernels.options`` have values in a job only
        implementation = choose(*arguments, **named)
        if name and implementation is not None:
            origins[implementation] = Origin(name, arguments, named)
        return implementation

    return recorded


def device(host: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Register the decorated function as the device implementation of ``host``."""

    def register(implementation: Callable[..., Any]) -> Any:
        registered[host] = implementation
        if "group" in inspect.signature(implementation).parameters:
            implementation = _of_group(host.__name__, implementation)
        overload(host, target="cpu")(_refusal(host.__name__))  # dpjit has it from there
        return overload(host, target=TARGET)(_recorded(implementation, host.__name__))

    return register


group_checks: list[Callable[[int, Callable[..., Any]], Callable[..., Any]]] = []
"""What adds checks to the implementation of a routine for groups, given the number of the routine."""


def _of_group(routine: str, choose: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``choose`` that checks the type of ``group`` and adds `group_checks` to what it returns."""
    kinds, signature, this = (GroupType, SubGroupType), inspect.signature(choose), violations.number(routine)
    for name in signature.parameters:
        violations.argument_number(name)

    @functools.wraps(choose)
    def checked(*arguments: Any, **named: Any) -> Any:
        group = signature.bind(*arguments, **named).arguments["group"]
        words = f"{routine}: group is item.get_group() of an NdItem"
        require(isinstance(group, kinds), f"{words}, got {group}")
        implementation = choose(*arguments, **named)
        for add in group_checks if implementation else ():
            implementation = add(this, implementation)
        return implementation

    return checked


def device_function(choose: Callable[..., Any]) -> Any:
    """Make a device function whose implementation is chosen by the argument types.

    Args:
        choose: Takes the types and returns the implementation, a function with the same parameters. Its name, signature
            and docstring become those of the device function.
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
def address_of(_context: Any, array: Any) -> Any:
    """Return the address of an array's first element."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(struct.data, I64)

    return types.int64(array), code


@device_intrinsic
def item_bytes(_context, array):
    """Return the size in bytes of an element of an array, or of a scalar, as a compile-time constant.

    ``array.itemsize`` is not constant. With a constant, index to offset is a shift: a Max has no 64-bit multiplication.
    """

    def code(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return I64(context.get_abi_sizeof(context.get_data_type(getattr(array, "dtype", array))))

    return types.int64(array), code


@device_intrinsic
def zero_of(_context, array):
    """Return zero in the dtype of an array, or of a scalar."""

    def code(context: Any, builder: Any, signature: Any, _arguments: Any) -> Any:
        return context.get_constant_null(signature.return_type)

    return getattr(array, "dtype", array)(array), code


@device_intrinsic
def at_address(_context: Any, array: Any, address: Any) -> Any:
    """Return a view with the shape and dtype of ``array`` whose first element is at ``address``."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = context.make_array(signature.args[0])
        old, new = make(context, builder, arguments[0]), make(context, builder)
        cgutils.copy_struct(new, old)
        new.data = builder.inttoptr(arguments[1], new.data.type)
        return new._getvalue()

    return array(array, types.int64), code


@device_intrinsic
def without_elements(_context: Any, array: Any) -> Any:
    """Return an array of the type of ``array`` without elements and memory."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        make = context.make_array(signature.args[0])
        old, new = make(context, builder, arguments[0]), make(context, builder)
        cgutils.copy_struct(new, old)
        new.data, new.nitems = cgutils.get_null_value(new.data.type), I64(0)
        if array.ndim:
            new.shape = cgutils.pack_array(builder, [I64(0)] * array.ndim)
        return new._getvalue()

    return array(array), code


WORDS = {8: types.uint8, 16: types.uint16, 32: types.uint32, 64: types.uint64, 128: types.complex128}
"""A type for each width of elements, in bits."""


def _word_like(dtype: Any) -> Any:
    return WORDS.get(8 if dtype == types.boolean else getattr(dtype, "bitwidth", 0), dtype)


@device_intrinsic
def as_words(_context, array):
    """Return an array on the same memory whose elements are words of the same width, of one axis if it is contiguous.

    Code that only moves elements is then compiled once for each width, not for each dtype and number of axes.
    """
    flat = array.layout == "C" and array.ndim > 1

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        old = context.make_array(array)(context, builder, arguments[0])
        new = context.make_array(signature.return_type)(context, builder)
        changed = {"data": builder.bitcast(old.data, new.data.type)}
        if flat:
            changed["shape"] = cgutils.pack_array(builder, [old.nitems])
            changed["strides"] = cgutils.pack_array(builder, [old.itemsize])
        cgutils.copy_struct(new, old, repl=changed)
        return new._getvalue()

    return array.copy(dtype=_word_like(array.dtype), ndim=1 if flat else array.ndim)(array), code


def _element_pointer(context: Any, builder: Any, address: Any, dtype: Any) -> Any:
    return builder.inttoptr(address, context.get_data_type(dtype).as_pointer(GLOBAL))


@device_intrinsic
def load(_context: Any, address: Any, like: Any) -> Any:
    """Return the element at an address, in the dtype of the array or scalar ``like``."""
    dtype = getattr(like, "dtype", like)

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, arguments[0], dtype)
        return context.unpack_value(builder, dtype, pointer)

    return dtype(types.int64, like), code


@device_intrinsic
def store(_context: Any, address: Any, like: Any, value: Any) -> Any:
    """Store ``value`` at an address, as an element of the dtype of the array or scalar ``like``."""
    dtype = getattr(like, "dtype", like)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element_pointer(context, builder, arguments[0], dtype)
        context.pack_value(builder, dtype, context.cast(builder, arguments[2], signature.args[2], dtype), pointer)
        return context.get_dummy_value()

    return types.void(types.int64, like, value), code


@device_intrinsic
def load_element(_context: Any, base: Any, index: Any, like: Any) -> Any:
    """Return element ``index`` of the array that begins at address ``base``, in the dtype of ``like``.

    The index is added by the load itself, so the compiler computes the base address once per loop, or once per hardware
    thread.
    """

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.unpack_value(builder, like.dtype, _element(context, builder, signature, arguments, like.dtype))

    return like.dtype(types.int64, index, like), code


@device_intrinsic
def store_element(_context: Any, base: Any, index: Any, like: Any, value: Any) -> Any:
    """Store ``value`` as element ``index`` of the array that begins at address ``base``; see `load_element`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _element(context, builder, signature, arguments, like.dtype)
        converted = context.cast(builder, arguments[3], signature.args[3], like.dtype)
        context.pack_value(builder, like.dtype, converted, pointer)
        return context.get_dummy_value()

    return types.void(types.int64, index, like, value), code


def _element(context: Any, builder: Any, signature: Any, arguments: Any, dtype: Any) -> Any:
    index = context.cast(builder, arguments[1], signature.args[1], types.int64)
    return builder.gep(_element_pointer(context, builder, arguments[0], dtype), [index])


@device_intrinsic
def bytes_of(_context: Any, elements: Any) -> Any:
    """Return the size in bytes of a tuple of elements, as a compile-time constant."""

    def code(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return I64(elements.count * context.get_abi_sizeof(context.get_data_type(elements.dtype)))

    return types.int64(elements), code


@device_intrinsic
def move(_context: Any, word: Any, to: Any, origin: Any) -> Any:
    """Copy a word, a tuple of integers, by one load and one store; both addresses are aligned to its size."""
    size = word.count * word.dtype.bitwidth // 8
    moved = ir.VectorType(I32, size // 4) if size > 8 else ir.IntType(8 * size)

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = moved.as_pointer(GLOBAL)
        value = builder.load(builder.inttoptr(arguments[2], pointer), align=size)
        builder.store(value, builder.inttoptr(arguments[1], pointer), align=size)
        return context.get_dummy_value()

    return types.void(word, types.int64, types.int64), code


@device_intrinsic
def move_block(_context: Any, count: Any, unit: Any, to: Any, origin: Any) -> Any:
    """Copy ``count`` units as `move` does; they are all loaded before the first one is stored."""
    number, size = literal_value(count), literal_value(unit)
    word = ir.VectorType(I32, size // 4)

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        to, origin = (builder.inttoptr(address, word.as_pointer(GLOBAL)) for address in arguments[2:])
        values = [builder.load(builder.gep(origin, [I64(i)]), align=size) for i in range(number)]
        for i, value in enumerate(values):
            builder.store(value, builder.gep(to, [I64(i)]), align=size)
        return context.get_dummy_value()

    return types.void(count, unit, types.int64, types.int64), code


@device_intrinsic
def load_word(_context: Any, address: Any) -> Any:
    """Load the int64 at an address by a plain load, ordered only by earlier fences and atomics."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], I64.as_pointer(GLOBAL)))

    return types.int64(types.int64), code


@device_intrinsic
def store_word(_context: Any, address: Any, value: Any) -> Any:
    """Store an int64 at an address by a plain store, which the next release publishes."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], I64.as_pointer(GLOBAL)))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


class VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    """A volatile load: the compiler neither removes nor repeats it."""

    def descr(self, buf: list[str]) -> None:
        """Write the instruction."""
        super().descr(buf)
        buf[-1] = buf[-1].replace("load ", "load volatile ", 1)


class VolatileStore(ir.instructions.StoreInstr):  # type: ignore[misc]
    """A volatile store: the compiler neither removes nor repeats it."""

    def descr(self, buf: list[str]) -> None:
        """Write the instruction."""
        super().descr(buf)
        buf[-1] = buf[-1].replace("store ", "store volatile ", 1)


def volatile(builder: Any, address: Any, kind: Any) -> Any:
    """Emit a volatile load of an integer at an address."""
    loaded = VolatileLoad(builder.block, builder.inttoptr(address, kind.as_pointer(GLOBAL)))
    loaded.align = kind.width // 8
    builder._insert(loaded)
    return loaded


@device_intrinsic
def load_volatile(_context, address):
    """Return the int64 at an address by a volatile load."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return volatile(builder, arguments[0], I64)

    return types.int64(types.int64), code


@device_intrinsic
def store_volatile(_context, address, value):
    """Store an int64 at an address by a volatile store."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _store(builder, *arguments)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), code


@device_intrinsic
def store_tuple_volatile(_context, address, values):
    """Store the int64 of a tuple one after another from an address on, each by a volatile store."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        for number, value in enumerate(cgutils.unpack_tuple(builder, arguments[1])):
            _store(builder, builder.add(arguments[0], I64(8 * number)), value)
        return context.get_dummy_value()

    return types.void(types.int64, values), code


def _store(builder: Any, address: Any, value: Any) -> None:
    stored = VolatileStore(builder.block, value, builder.inttoptr(address, I64.as_pointer(GLOBAL)))
    stored.align = 8
    builder._insert(stored)


@device_intrinsic
def opaque(_context: Any, value: Any) -> Any:
    """Return ``value``, hidden from the optimizer, which then moves no code across a loop exit that depends on it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = cgutils.alloca_once(builder, I64)
        number = context.cast(builder, arguments[0], signature.args[0], types.int64)
        stored, loaded = VolatileStore(builder.block, number, place), VolatileLoad(builder.block, place)
        stored.align = loaded.align = 8
        builder._insert(stored)
        builder._insert(loaded)
        return loaded

    return types.int64(value), code


def spirv_call(builder: Any, name: str, kinds: list[Any], result: Any, arguments: list[Any]) -> Any:
    """Emit a call of a SPIR-V function that synchronizes work-items or memory, which compilers may not move."""
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [each.type for each in arguments]), mangle(f"__spirv_{name}", kinds)
    )
    function.calling_convention = SPIR_FUNC
    function.attributes.add("convergent")
    function.attributes.add("nounwind")
    return builder.call(function, arguments, cconv=SPIR_FUNC)


@device_intrinsic
def group_barrier(_context: Any, group: Any) -> Any:
    """Wait for all work-items of a group, and order what they do in global memory; nothing to do if it is None.

    `kernel_api.group_barrier` orders local memory, too, by a fence of its own; no operation of ishmem uses any.
    """
    scope = SUB_GROUP if isinstance(group, SubGroupType) else WORK_GROUP

    def code(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if isinstance(group, types.NoneType):
            return context.get_dummy_value()
        operands = [I32(scope), I32(WORK_GROUP), I32(memory_orders.Order.SEQ_CST | CROSS_WORKGROUP)]
        spirv_call(builder, "ControlBarrier", [types.int32] * 3, ir.VoidType(), operands)
        return context.get_dummy_value()

    return types.void(group), code


def _narrow(builder: Any, component: Any) -> Any:
    """Tell the compiler that a work-item id or group size fits in 32 bits, so that it uses 32-bit multiplication.

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
    """Emit a number that no other work-item of the launch has."""
    x, y, z = built_in(builder, "GlobalInvocationId")
    return builder.add(x, builder.add(builder.shl(y, I64(21)), builder.shl(z, I64(42))))


@device_intrinsic
def work_item(_context):
    """Return a number that no other work-item of the launch has."""
    return types.int64(), lambda _context, builder, _signature, _arguments: work_item_number(builder)


@device_intrinsic
def rank_in(_context, group):
    """Return the linear id of this work-item in ``group``, a work-group or a sub-group; 0 if ``group`` is None."""

    def code(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if isinstance(group, SubGroupType):
            return sub_group_place(builder)[0]
        return _rank(builder, group.ndim) if hasattr(group, "ndim") else I64(0)

    return types.int64(group), code


@device_intrinsic
def size_of(_context, group):
    """Return the number of work-items in ``group``, a work-group or a sub-group; 1 if ``group`` is None."""

    def code(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        if isinstance(group, SubGroupType):
            return sub_group_place(builder)[1]
        return _size(builder, group.ndim) if hasattr(group, "ndim") else I64(1)

    return types.int64(group), code


def _summed(builder: Any, group: Any, name: str, kind: Any, number: Any, operation: int = REDUCE) -> Any:
    """Emit the sum of numbers of a type over the work-items of a group."""
    scope = SUB_GROUP if isinstance(group, SubGroupType) else WORK_GROUP
    kinds = [SCOPE_AND_MASK[0], "__spv.GroupOperation.Flag", kind]
    return spirv_call(builder, name, kinds, number.type, [I32(scope), I32(operation), number])


def _group_sum(name: str, kind: Any, operation: int = REDUCE) -> Any:
    """Make the intrinsic that sums values of a type over the work-items of a group."""

    def group_sum(_context, group, value):
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = context.cast(builder, arguments[1], signature.args[1], kind)
            return _summed(builder, group, name, kind, number, operation)

        return kind(group, value), code

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
def from_one(_context, group, value):
    """Return the integer or truth value that one work-item of a group has; the others pass 0. ``group`` may be None."""

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        if isinstance(group, types.NoneType):
            return arguments[1]
        number = context.cast(builder, arguments[1], value, types.int64)
        return context.cast(builder, _summed(builder, group, "GroupIAdd", types.int64, number), types.int64, value)

    return value(group, value), code


def literal_value(kind: Any) -> int:
    """Return the value of a literal type; numba also tries each function with the type without the value.

    Raises:
        TypingError: The type has no value.
    """
    require(isinstance(kind, types.IntegerLiteral), f"an integer literal is needed, got {kind}")
    return int(kind.literal_value)


def require(condition: bool, message: str) -> None:
    """Refuse to compile a kernel, with the message of the host's error, unless ``condition`` holds.

    Raises:
        TypingError: ``condition`` does not hold.
    """
    if not condition:
        raise TypingError(message)
