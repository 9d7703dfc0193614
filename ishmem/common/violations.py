"""What kernels found wrong with their arguments: read and raised on the host.

They look for it when ``ISHMEM_CHECK`` is set, and always for a ``ptr`` that cannot be.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Callable, NamedTuple

from ishmem import _core
from ishmem.common.errors import IshmemError, SymmetryError
from ishmem.common.type_tables import RMA_TYPES

if TYPE_CHECKING:
    from ishmem.runtime.job import Job

NO_PE, NOT_SYMMETRIC, OUTSIDE, NO_TEAM, NO_ROOT, STRIDE, MISMATCH, UNREACHABLE = range(1, 9)
WRONG_LENGTH, NEGATIVE, UNEQUAL = range(9, 12)

LISTS = ("counts", "displs", "dest_counts", "dest_displs", "source_counts", "source_displs")
"""Lists of counts and places that collective routines take."""

NO_LIST = -1
"""Length of a list that was left out."""


_NO_DTYPE = len(RMA_TYPES)


def call_word(routine: int, dtype: object = None) -> int:
    """Return what stands for a collective call in kernels; the root, or the strides, go into bits 16 and above."""
    return routine + 256 * (_NO_DTYPE if dtype is None else RMA_TYPES.index(str(dtype)))


class Violation(NamedTuple):
    """The first bad call of this PE's kernels, one int64 each.

    Attributes:
        claimed: Whether a work-item has found something.
        complete: Whether it has written all of it.
        pe: The PE, or -1 for an array of this PE's own; of collective calls the team or the root that there is none of.

    Of collective calls that do not match, ``address`` and ``first`` are call word and elements on this PE, ``size`` and
    ``nelems`` those on the other. Of a list, ``pe`` is its place in `LISTS`, and ``nelems`` its length, where ``size``
    is that of the team, or its number ``first``. Where ``alltoallv`` sends another number of elements than is expected,
    ``address`` is the sender.
    """

    claimed: int
    complete: int
    routine: int
    problem: int
    pe: int
    address: int
    first: int
    nelems: int
    size: int

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in the record."""
        return 8 * cls._fields.index(field)

    @classmethod
    def nbytes(cls) -> int:
        """Return the size of the record."""
        return 8 * len(cls._fields)


_ERRORS = {NOT_SYMMETRIC: SymmetryError, MISMATCH: SymmetryError, NO_TEAM: ValueError, STRIDE: ValueError,
           UNREACHABLE: IshmemError, WRONG_LENGTH: ValueError, NEGATIVE: ValueError, UNEQUAL: SymmetryError}
_FORMAT = f"<{len(Violation._fields)}q"


def raise_violation(this: Job) -> None:
    """Raise what this PE's kernels have found, and forget it.

    Raises:
        IndexError: A PE or root that does not exist, or elements outside an array.
        SymmetryError: An array that is not on the symmetric heap, or collective calls that do not match.
        ValueError: A team that does not exist, or strides, counts or places that are not allowed.
        IshmemError: ``ptr`` of a PE that kernels do not reach.
    """
    if not this.settings.check and this.heap.proxy is None:
        return
    place = this.heap.layout.violation
    found = Violation(*struct.unpack(_FORMAT, _core.read(this.pe, place, Violation.nbytes())))
    if not found.complete:
        return
    _core.write(this.pe, place, bytes(Violation.nbytes()))
    problem = _words(this, found)
    raise _ERRORS.get(found.problem, IndexError)(problem)


_OF_LISTS: dict[int, Callable[[Violation], str]] = {
    WRONG_LENGTH: lambda it: f"{LISTS[it.pe]} has {it.nelems} numbers; the team has {it.size} PEs",
    NEGATIVE: lambda it: f"{LISTS[it.pe]}[{it.first}] is {it.nelems}; the numbers are at least 0",
    UNEQUAL: lambda it: f"PE {it.address} sends {it.nelems} elements to PE {it.pe}, which expects {it.size}",
}


def _words(this: Job, found: Violation) -> str:
    from ishmem.kernels.runtime_checks import NAMES

    call = f"{NAMES[found.routine] if found.problem != MISMATCH else 'collective call'} in a kernel on PE {this.pe}"
    if found.problem == NO_TEAM:
        return f"{call}: team is {found.pe}; those of this PE are {this.handles}"
    if found.problem == NO_ROOT:
        return f"{call}: root is {found.pe}; PEs of the team are numbered 0 to {found.size - 1}"
    if found.problem == STRIDE:
        return f"{call}: dst is {found.first} and sst is {found.nelems}; strides are at least 1"
    if found.problem == MISMATCH:
        mine, theirs = _call_words(found.address, found.first), _call_words(found.size, found.nelems)
        return f"{call}: the PEs disagree; PE {this.pe}: {mine}; PE {found.pe}: {theirs}"
    if found.problem in _OF_LISTS:
        return f"{call}: {_OF_LISTS[found.problem](found)}"
    array = f"the array of {found.size} elements at {found.address:#x}{origin(this, found.address)}"
    if found.problem == NO_PE:
        return f"{call}, for {array}: pe is {found.pe}; PEs are numbered 0 to {this.n_pes - 1}"
    if found.problem == NOT_SYMMETRIC:
        return f"{call}{'' if found.pe < 0 else f', for PE {found.pe}'}: {array} is not on the symmetric heap"
    if found.problem == UNREACHABLE:
        return f"{call}, for {array}: kernels do not reach PE {found.pe}; on the host ptr returns None for it"
    where = "" if found.pe < 0 else f" on PE {found.pe}"
    return f"{call}: {found.nelems} elements from element {found.first} on are not all in {array}{where}"


def _call_words(word: int, count: int) -> str:
    from ishmem.kernels.runtime_checks import NAMES

    if word < 0:
        return "a call whose arguments were refused"
    name, kind = NAMES[word & 255], word >> 8 & 255
    root = f" with root {word >> 40}" if word >> 40 else ""
    if kind == _NO_DTYPE:
        return name + root
    counted = name in ("gatherv", "scatterv", "alltoallv")
    elements = "" if counted else f" of {count} elements"
    lists = f", counts and places {count & 2**64 - 1:#x}" if counted and count else ""
    return f"{name}{elements} of dtype {RMA_TYPES[kind]}{root}{lists}"


def origin(this: Job, address: int) -> str:
    """Say where the array was allocated, when it is in a live allocation."""
    offset = address - this.heap.base
    owners = (a for a in this.heap.allocator.live.values() if 0 <= offset - a.offset < a.reserved)
    return "".join(f" ({a.what}, from {a.where})" for a in owners)
