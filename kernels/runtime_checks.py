"""Argument checks inside kernels.

Sizes of the arrays of puts and gets of more than one element, strides, tiles and numbers of work-groups are always
checked; other checks are compiled in only if ``ISHMEM_CHECK`` is set. An operation that fails its check is skipped. The
first failure is recorded in this PE's heap, where the host finds it: see ``ishmem.common.violations``, which numbers
routines and arguments, as in parameters ``routine`` and ``argument``.

Errors outside ishmem's routines, with ``ISHMEM_CHECK``, are recorded in the same way: indices out of bounds, and
exceptions. Only `ishmem.dpex` reports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba.core import types

from ishmem.common.callsite import CallSite
from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import (
    DETAIL_WORDS,
    INDEX,
    MISFIT,
    NO_MEMBER,
    NO_PE,
    NO_TEAM_PE,
    NOT_SYMMETRIC,
    OPTIONS,
    OUTSIDE,
    RAISED,
    Violation,
)
from ishmem.dpex.extension import KernelFailure, SourceLine

from . import memory_orders, spec_constants, type_checks
from .atomic_instructions import atomic_exchange_word, atomic_store_flag, atomic_store_word, spirv_atomic
from .intrinsics import GLOBAL, I64, address_of, compiled, device_function, item_bytes, work_item, work_item_number
from .options import CHECK
from .peers import is_symmetric
from .spec_constants import pe_count, violation_record

# ---- integers of any two types by their values


@device_function
def is_less(a, b):
    """Return whether ``a < b``, also where one number is int64 and the other uint64."""
    if a == types.uint64 and _is_signed(b):
        return lambda a, b: (b >= 0) & (a < types.uint64(b))
    if b == types.uint64 and _is_signed(a):
        return lambda a, b: (a < 0) | (types.uint64(a) < b)
    return lambda a, b: a < b


def _is_signed(kind: Any) -> bool:
    return isinstance(kind, types.Integer) and kind.signed


@device_function
def fits_dtype(array, value):
    """Return whether an array's dtype can represent the integer ``value``; True for others, which are converted."""
    dtype = array.dtype
    if type_checks.holds(dtype, value):
        return lambda: True
    return lambda array, value: not (is_less(dtype(value), value) | is_less(value, dtype(value)))


@device_function
def wanted_of(array, value):
    """Return the value to compare an array's elements with: in their dtype, or unchanged if it may not fit."""
    dtype = array.dtype
    if type_checks.holds(dtype, value):
        return lambda array, value: dtype(value)
    return lambda array, value: value


# ---- arguments


_COMPLETE, _ROUTINE, _PROBLEM, _PE, _ADDRESS, _FIRST, _COUNT, _SIZE = map(Violation.at, Violation._fields[1:9])
_ITEM = Violation.at("item")


@compiled
def own_array_fits(routine, address, size, item, count):
    """Return whether an array of this PE is symmetric and has ``count`` of its ``size`` elements; report it if not."""
    problem = OUTSIDE if is_symmetric(address, size * item) else NOT_SYMMETRIC
    if problem == OUTSIDE and 0 <= count <= size:
        return True
    report(routine, problem, -1, address, 0, count, size)
    return False


@device_function
def span_of(array):
    """Return the bytes from the first element of an array to the end of its last; those of all if it is contiguous."""
    if array.layout in "CF" or array.ndim > 2:
        return lambda array: array.size * item_bytes(array)
    if array.ndim == 1:
        return lambda array: (array.size - 1) * array.strides[0] + item_bytes(array)

    def of_tile(array):
        steps = (array.shape[0] - 1) * array.strides[0] + (array.shape[1] - 1) * array.strides[1]
        return steps + item_bytes(array)

    return of_tile


@compiled
def allowed(routine, array, pe, first, count):
    """Return whether PE ``pe`` exists and a symmetric array has ``count`` elements from ``first``; report it if not.

    Always True without ``ISHMEM_CHECK``. ``routine`` is the number of the routine in the report.
    """
    if not CHECK:
        return True
    address = address_of(array)
    if pe < 0 or pe >= pe_count():
        problem = NO_PE
    elif not is_symmetric(address, span_of(array)):
        problem = NOT_SYMMETRIC
    elif first < 0 or count < 0 or first + count > array.size:
        problem = OUTSIDE
    else:
        return True
    report(routine, problem, pe, address, first, count, array.size)
    return False


@device_function
def are_pes(routine, pes):
    """Return whether a number, or all numbers of a tuple or an array, are PE numbers; report a violation if not."""
    if not CHECK or (isinstance(pes, types.BaseTuple) and not pes.count):
        return lambda: True
    if isinstance(pes, types.Integer):
        return lambda routine, pes: _is_pe(routine, pes)
    if isinstance(pes, types.BaseTuple):  # no loop: LLVM makes a switch of an odd width of it, on which compilers crash
        return lambda routine, pes: _is_pe(routine, pes[0]) and are_pes(routine, pes[1:])

    def are_all_pes(routine, pes):
        good = True
        for pe in pes:
            good = good and _is_pe(routine, pe)
        return good

    return are_all_pes


@compiled
def _is_pe(routine, pe):
    if 0 <= pe < pe_count():
        return True
    report(routine, NO_PE, pe, 0, 0, 0, 0)
    return False


@compiled
def is_team_pe(routine, argument, pe, size):
    """Return whether a team of ``size`` PEs has PE ``pe``, passed as ``argument``; report a violation if not."""
    if 0 <= pe < size:
        return True
    report(routine, NO_TEAM_PE, pe, 0, argument, 0, size)
    return False


@compiled
def fits(routine, array, pe, count):
    """Return whether an array of PE ``pe`` (-1: this PE) has ``count`` elements; report a violation if not."""
    if 0 <= count <= array.size:
        return True
    report(routine, OUTSIDE, pe, address_of(array), 0, count, array.size)
    return False


@compiled
def both_fit(dest, source, count):
    """Return whether both arrays, ``dest`` and ``source``, have ``count`` elements, without a branch."""
    return (count >= 0) & (count <= dest.size) & (count <= source.size)


@compiled
def have_room(routine, dest, source, pe, count, problem):
    """Return whether both arrays have ``count`` elements; report ``problem``, `SIZES` or `NELEMS`, if they have not."""
    if both_fit(dest, source, count):
        return True
    report(routine, problem, pe, address_of(dest), dest.size, count, source.size)
    return False


@device_function
def value_fits(routine, array, value):
    """Return whether an array's dtype can hold ``value``, True without ``ISHMEM_CHECK``; report a violation if not."""
    if not CHECK or type_checks.holds(array.dtype, value):
        return lambda: True
    number, unsigned = RMA_TYPES.index(str(array.dtype)), int(not value.signed)

    def fits_or_report(routine, array, value):
        if fits_dtype(array, value):
            return True
        report(routine, MISFIT, number, 0, types.int64(value), 0, unsigned)
        return False

    return fits_or_report


def _option(name: str) -> Any:
    """Make the check of argument ``name``, whose values are the constants of an enumeration in `OPTIONS`."""
    number, first, last = list(OPTIONS).index(name), int(min(OPTIONS[name])), int(max(OPTIONS[name]))

    @device_function
    def is_member(routine, value):
        """Return whether an integer is one of the constants, which are consecutive; report a violation if not."""
        if not CHECK or not isinstance(value, types.Integer):
            return lambda: True

        def is_in_range(routine, value):
            if first <= value <= last:
                return True
            report(routine, NO_MEMBER, number, 0, types.int64(value), 0, 0)
            return False

        return is_in_range

    return is_member


is_cmp, is_sig_op, is_order = map(_option, OPTIONS)


@compiled
def report(routine, problem, pe, address, first, count, size):
    """Record a violation with these fields (see `ishmem.common.violations`), unless one is recorded already."""
    record = violation_record()
    if atomic_exchange_word(record, 1) == 0:
        atomic_store_word(record + _ROUTINE, routine)
        atomic_store_word(record + _PROBLEM, problem)
        atomic_store_word(record + _PE, pe)
        atomic_store_word(record + _ADDRESS, address)
        atomic_store_word(record + _FIRST, first)
        atomic_store_word(record + _COUNT, count)
        atomic_store_word(record + _SIZE, size)
        atomic_store_word(record + _ITEM, work_item() + 1)
        atomic_store_flag(record + _COMPLETE, 1)


# ---- indices out of bounds, and exceptions


def emit_record(context: Any, builder: Any, failure: KernelFailure) -> None:
    """Emit code that records a failure, unless one is recorded already or the job has ended."""
    address = spec_constants.emit(builder, "violation")
    with builder.if_then(builder.icmp_unsigned("!=", address, I64(0)), likely=False):
        pointer = builder.inttoptr(address, I64.as_pointer(GLOBAL))
        order = [memory_orders.RECORD]
        claimed = spirv_atomic(context, builder, "AtomicExchange", types.int64, order, [pointer, I64(1)])
        with builder.if_then(builder.icmp_unsigned("==", claimed, I64(0))):
            values = {**_call(failure.place), **_fields(failure)}
            values["item"] = builder.add(work_item_number(builder), I64(1))
            for field, value in values.items():
                builder.store(value, _at(builder, pointer, field))
            done = [_at(builder, pointer, "complete"), I64(1)]
            spirv_atomic(context, builder, "AtomicStore", types.int64, [memory_orders.FLAG], done)


def emit_note_of(builder: Any, place: SourceLine) -> None:
    """Emit the store of a line of the program as call site (`emit_note`), if in a job; nothing for a library's line."""
    if CallSite(place.file, place.line, place.function).is_users:
        exists = builder.icmp_unsigned("!=", spec_constants.emit(builder, "violation"), I64(0))
        with builder.if_then(exists):
            emit_note(builder, [I64(word) for word in words_of(*place)])


def emit_note(builder: Any, words: Sequence[Any]) -> None:
    """Emit a store of the words of a call, if this work-item has recorded a failure and no call is recorded yet."""
    record = builder.inttoptr(spec_constants.emit(builder, "violation"), I64.as_pointer(GLOBAL))
    claimed = builder.icmp_unsigned("!=", builder.load(_at(builder, record, "claimed")), I64(0))
    with builder.if_then(claimed, likely=False):
        item = builder.load(_at(builder, record, "item"))
        mine = builder.icmp_unsigned("==", item, builder.add(work_item_number(builder), I64(1)))
        first = builder.icmp_unsigned("==", builder.load(_at(builder, record, "call0")), I64(0))
        with builder.if_then(builder.and_(mine, first)):
            for number, word in enumerate(words):
                builder.store(word, _at(builder, record, f"call{number}"))


def words_of(function: str, file: str, line: int) -> tuple[int, ...]:
    """Return the words of the record for a line of a kernel or device function: function, file name and line."""
    return Violation.words_of(f"{function}, {Path(file).name}:{line}")


def _call(place: SourceLine) -> dict[str, Any]:
    """Return the fields of the record for a line of the program; empty for a library, whose callers store theirs."""
    if not CallSite(place.file, place.line, place.function).is_users:
        return {}
    return {f"call{number}": I64(word) for number, word in enumerate(words_of(*place))}


def _fields(failure: KernelFailure) -> dict[str, Any]:
    if failure.index is None:
        text = f"{failure.error.__name__}: {failure.text}" if failure.text else failure.error.__name__
        words = enumerate(Violation.detail_words(text))
        return {"problem": I64(RAISED), **{f"detail{number}": I64(word) for number, word in words}}
    shape = failure.shape[:DETAIL_WORDS]
    details = {f"detail{number}": extent for number, extent in enumerate(shape)}
    fields = {"problem": I64(INDEX), "first": failure.index, "pe": I64(failure.axis), "size": I64(len(shape))}
    return {**fields, **details}


def _at(builder: Any, record: Any, field: str) -> Any:
    return builder.gep(record, [I64(Violation.at(field) // 8)])
