"""Raises the first error of this PE's kernels: reads the record of ``ishmem.common.violations``."""

from __future__ import annotations

import builtins
import struct
from typing import TYPE_CHECKING, Callable

from ishmem import _core
from ishmem.common import error_texts
from ishmem.common.call_id import DTYPES, NO_DTYPE, REFUSED, unpack
from ishmem.common.errors import IshmemError, SymmetryError
from ishmem.common.type_tables import RMA_TYPES
from ishmem.common.violations import (
    ALIGN,
    ARGUMENTS,
    DIFFERENT,
    ENDED,
    GROUPS,
    INDEX,
    LISTS,
    MISFIT,
    MISMATCH,
    NEGATIVE,
    NELEMS,
    NO_LOCK,
    NO_MEMBER,
    NO_PE,
    NO_TEAM,
    NO_TEAM_PE,
    NOT_SYMMETRIC,
    OPTIONS,
    RAISED,
    ROUTINES,
    ROWS,
    SET_SIZE,
    SIZES,
    STRIDE,
    TILES,
    UNEQUAL,
    WRONG_LENGTH,
    Violation,
)
from ishmem.dpex.extension import installed

if TYPE_CHECKING:
    from ishmem.runtime.heap import SymmetricHeap

_ERRORS = {NOT_SYMMETRIC: SymmetryError, MISMATCH: SymmetryError, NO_TEAM: ValueError, STRIDE: ValueError,
           NO_LOCK: SymmetryError, WRONG_LENGTH: ValueError, NEGATIVE: ValueError, UNEQUAL: SymmetryError,
           MISFIT: ValueError, NO_MEMBER: ValueError, SIZES: ValueError, NELEMS: ValueError,
           DIFFERENT: ValueError, GROUPS: ValueError, ALIGN: ValueError, ROWS: SymmetryError,
           TILES: ValueError, SET_SIZE: ValueError}
_FORMAT = f"<{len(Violation._fields)}q"


def raise_violation(heap: SymmetricHeap, handles: list[int], check: bool) -> None:
    """Raise the violation that this PE's kernels recorded, if any, and clear the record.

    ``handles`` are those of this PE's teams; ``check`` is whether kernels record call sites (``ISHMEM_CHECK``).

    Raises:
        IndexError: A PE or root that does not exist, or elements outside an array.
        SymmetryError: An array that is not on the symmetric heap, or collective calls that do not match.
        ValueError: A team that does not exist, arrays that are too short, or strides, counts or displacements that are
            not allowed.
        Exception: An exception that a kernel raised; an `IshmemError` if it is not one of Python's own.
    """
    found = _recorded(heap)
    if not found.complete:
        return
    _clear(heap)
    if found.problem in (MISMATCH, ROWS, UNEQUAL):  # of members
        sender = _core.pe_of(found.address) if found.problem == UNEQUAL else found.address
        found = found._replace(pe=_core.pe_of(found.pe), address=sender)
    installed().load()  # device functions define the numbers of routines; a kernel from the cache does not load them
    place = f" ({found.call})" if found.call else "" if check else "; ISHMEM_CHECK=1 tells kernel and line"
    raise _error(found)(_words(heap, handles, found) + place)


def take_loss(heap: SymmetricHeap) -> bool:
    """Return whether a wait of this PE's kernels has ended because of a loss, and clear the record of that."""
    ended = _recorded(heap).complete == ENDED
    if ended:
        _clear(heap)
    return ended


def _recorded(heap: SymmetricHeap) -> Violation:
    return Violation(*struct.unpack(_FORMAT, _core.read(heap.pe, heap.layout.violation, Violation.nbytes())))


def _clear(heap: SymmetricHeap) -> None:
    _core.write(heap.pe, heap.layout.violation, bytes(Violation.nbytes()))


def _error(found: Violation) -> type[Exception]:
    """Return the class of the error of a record."""
    if found.problem != RAISED:
        return _ERRORS.get(found.problem, IndexError)
    raised = getattr(builtins, found.exception.partition(":")[0], None)
    fits = isinstance(raised, type) and issubclass(raised, Exception) and not issubclass(raised, UnicodeError)
    return raised if fits and isinstance(raised, type) else IshmemError


def _least_stride(found: Violation) -> str:
    return f"{found.size}, the size of a block" if found.size > 1 else f"{found.size}"


def _row(sizes: int) -> str:
    return f"{sizes >> 32} bytes and {sizes & 0xFFFFFFFF} of scales"


_TEXTS: dict[int, Callable[[Violation], str]] = {
    WRONG_LENGTH: lambda it: error_texts.wrong_length(LISTS[it.pe], it.nelems, it.size),
    NEGATIVE: lambda it: error_texts.negative(f"{LISTS[it.pe]}[{it.first}]", it.nelems),
    MISFIT: lambda it: error_texts.misfit("the value", it.first % 2**64 if it.size else it.first, RMA_TYPES[it.pe]),
    SIZES: lambda it: error_texts.unequal(it.first, it.size),
    NELEMS: lambda it: error_texts.too_many(it.nelems, it.first, it.size),
    SET_SIZE: lambda it: error_texts.set_size(ARGUMENTS[it.pe], it.nelems, it.size),
    STRIDE: lambda it: f"dst is {it.first} and sst is {it.nelems}; strides are at least {_least_stride(it)}",
    NO_MEMBER: lambda it: error_texts.no_member(*list(OPTIONS.items())[it.pe], it.first),
    DIFFERENT: lambda it: (
        f"{ARGUMENTS[it.pe]} differs between the work-items of a group: {it.first} of {it.size} pass another one than "
        "the first; all pass the same"
    ),
    ALIGN: lambda it: f"a begins at no multiple of {it.size} bytes, the size of the new elements",
    GROUPS: lambda it: (
        f"the launch has {it.first} work-groups, of which the device certainly runs {it.size} at the same time; launch "
        "at most max_work_groups()"
    ),
    ROWS: lambda it: (
        f"a token has {_row(it.first)} here, and {_row(it.nelems)} on PE {it.pe}; all PEs pass arrays of the same "
        "dtypes"
    ),
    TILES: lambda it: (
        f"dest has {it.first} rows and source has {it.size}; {error_texts.tile_rows(it.pe)}, and both have rows of "
        "consecutive elements one after the other"
    ),
    UNEQUAL: lambda it: error_texts.unlike_counts(it.address, it.nelems, it.pe, it.size),
}


def _words(heap: SymmetricHeap, handles: list[int], found: Violation) -> str:
    if found.problem in (INDEX, RAISED):
        return f"a kernel on PE {heap.pe}: {_failure(found)}"
    routine = ROUTINES[found.routine] if found.problem != MISMATCH else "collective call"
    call = f"{routine} in a kernel on PE {heap.pe}"
    if found.problem == NO_TEAM:
        return f"{call}: team is {found.pe}; those of this PE are {handles}"
    if found.problem == NO_TEAM_PE:
        return f"{call}: {error_texts.no_pe(ARGUMENTS[found.first], found.pe, found.size, 'the team')}"
    if found.problem == MISMATCH:
        mine, theirs = _call_text(found.address, found.first), _call_text(found.size, found.nelems)
        if mine == theirs:
            mine, theirs = (f"{mine}, strides {unpack(each).strides:#x}" for each in (found.address, found.size))
        return f"{call}: the PEs disagree; PE {heap.pe}: {mine}; PE {found.pe}: {theirs}"
    address = found.address % (1 << 64)  # of a GPU it is negative as int64
    if found.problem in _TEXTS:
        dest = origin(heap, address) if found.problem in (SIZES, NELEMS) else ""
        return f"{call}: {_TEXTS[found.problem](found)}{dest and f'; dest is in the allocation{dest}'}"
    array = f"the array of {found.size} elements at {address:#x}{origin(heap, address)}"
    if found.problem == NO_PE:
        used = f", for {array}" if address else ""
        return f"{call}{used}: {error_texts.no_pe('pe', found.pe, heap.layout.n_pes)}"
    if found.problem == NOT_SYMMETRIC:
        whose = "" if found.pe < 0 else f", for PE {found.pe}"
        return f"{call}{whose}: {array} is not on the symmetric heap, nor registered"
    if found.problem == NO_LOCK:
        return f"{call}: {error_texts.no_lock(found.first, found.nelems, heap.layout.n_pes)}{origin(heap, address)}"
    where = "" if found.pe < 0 else f" on PE {found.pe}"
    return f"{call}: {found.nelems} elements from element {found.first} on are not all in {array}{where}"


def _failure(found: Violation) -> str:
    if found.problem == RAISED:
        return found.exception
    text = f"index {found.first} is out of bounds for axis {found.pe} of an array of shape {found.details}"
    return text if all(found.details) and found.details else f"{text}: {_NO_ELEMENTS}"


_NO_ELEMENTS = (
    "it has no elements; if it is from ptr, kernels do not reach that PE: test the result with `is None`, and call put "
    "or get in its place"
)


def _call_text(call_id: int, count: int) -> str:
    if call_id == REFUSED:
        return "a call with wrong arguments"
    call = unpack(call_id)
    name = ROUTINES[call.routine]
    root = f" with root {call.root}" if call.root else ""
    if call.dtype == NO_DTYPE:
        return name + root
    counted = name in ("gatherv", "scatterv", "alltoallv")
    elements = "" if counted else f" of {count} elements"
    lists = f", counts and displacements {count & 2**64 - 1:#x}" if counted and count else ""
    return f"{name}{elements} of dtype {DTYPES[call.dtype]}{root}{lists}"


def origin(heap: SymmetricHeap, address: int) -> str:
    """Return a description of the live allocation that contains an address; empty when there is none."""
    offset = address - heap.base
    owners = (a for a in heap.allocator.live.values() if 0 <= offset - a.offset < a.reserved)
    return "".join(f" ({a.what}, from {a.where})" for a in owners)
