"""What kernels found wrong with their arguments, when ``ISHMEM_CHECK`` is set: read and raised on the host."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from . import _core
from .errors import SymmetryError

if TYPE_CHECKING:
    from .job import Job

NO_PE, NOT_SYMMETRIC, OUTSIDE = 1, 2, 3


class Violation(NamedTuple):
    """The first bad call of this PE's kernels, one int64 each.

    Attributes:
        claimed: Whether a work-item has found something.
        complete: Whether it has written all of it.
        pe: The PE, or -1 for an array of this PE's own.
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


_FORMAT = f"<{len(Violation._fields)}q"


def raise_violation(this: Job) -> None:
    """Raise what this PE's kernels have found, and forget it.

    Raises:
        IndexError: A PE that does not exist, or elements outside an array.
        SymmetryError: An array that is not on the symmetric heap.
    """
    if not this.settings.check:
        return
    place = this.heap.layout.violation
    found = Violation(*struct.unpack(_FORMAT, _core.read(this.pe, place, Violation.nbytes())))
    if not found.complete:
        return
    _core.write(this.pe, place, bytes(Violation.nbytes()))
    problem = _words(this, found)
    raise SymmetryError(problem) if found.problem == NOT_SYMMETRIC else IndexError(problem)


def _words(this: Job, found: Violation) -> str:
    from .kernels.guard import NAMES

    call = f"{NAMES[found.routine]} in a kernel on PE {this.pe}"
    array = f"the array of {found.size} elements at {found.address:#x}{origin(this, found.address)}"
    if found.problem == NO_PE:
        return f"{call}, for {array}: pe is {found.pe}; PEs are numbered 0 to {this.n_pes - 1}"
    if found.problem == NOT_SYMMETRIC:
        return f"{call}, for PE {found.pe}: {array} is not on the symmetric heap"
    where = "" if found.pe < 0 else f" on PE {found.pe}"
    return f"{call}: {found.nelems} elements from element {found.first} on are not all in {array}{where}"


def origin(this: Job, address: int) -> str:
    """Say where the array was allocated, when it is in a live allocation."""
    offset = address - this.heap.base
    owners = (a for a in this.heap.allocator.live.values() if 0 <= offset - a.offset < a.reserved)
    return "".join(f" ({a.what}, from {a.where})" for a in owners)
