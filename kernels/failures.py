"""Errors in kernels outside ishmem's routines, with ``ISHMEM_CHECK``: indices out of bounds, and exceptions.

They are recorded as wrong calls are (`kernels.runtime_checks`). Only `ishmem.dpex` reports them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba.core import types

from ishmem.common.callsite import CallSite
from ishmem.common.violations import DETAIL_WORDS, INDEX, RAISED, Violation
from ishmem.dpex.extension import Failure, Place

from . import memory_orders, spec_constants
from .intrinsics import GLOBAL, I64, spirv_atomic, work_item_number


def emit_record(context: Any, builder: Any, failure: Failure) -> None:
    """Emit the record of a failure, unless one is recorded already or the job has ended."""
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


def emit_note_of(builder: Any, place: Place) -> None:
    """Emit `emit_note` for a line of the program; nothing for one of a library."""
    if CallSite(place.file, place.line, place.function).is_users:
        exists = builder.icmp_unsigned("!=", spec_constants.emit(builder, "violation"), I64(0))
        with builder.if_then(exists):
            emit_note(builder, [I64(word) for word in words_of(*place)])


def emit_note(builder: Any, words: Sequence[Any]) -> None:
    """Emit a store of the words of a call, if this work-item has recorded a failure and no call is noted yet."""
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
    """Return the words of the record that stand for a line of a kernel or device function."""
    return Violation.words_of(f"{function}, {Path(file).name}:{line}")


def _call(place: Place) -> dict[str, Any]:
    """Return the words of a line of the program; lines of a library are noted by their callers."""
    if not CallSite(place.file, place.line, place.function).is_users:
        return {}
    return {f"call{number}": I64(word) for number, word in enumerate(words_of(*place))}


def _fields(failure: Failure) -> dict[str, Any]:
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
