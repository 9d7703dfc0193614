"""The record that a kernel writes when an argument is wrong, and the numbers in it.

Kernels check arguments when ``ISHMEM_CHECK`` is set, and always whether ``ptr`` is possible. The host turns the record
into an error: ``ishmem.runtime.violation_errors``.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.type_tables import RMA_TYPES

NO_PE, NOT_SYMMETRIC, OUTSIDE, NO_TEAM, NO_ROOT, STRIDE, MISMATCH, UNREACHABLE = range(1, 9)
WRONG_LENGTH, NEGATIVE, UNEQUAL = range(9, 12)

LISTS = ("counts", "displs", "dest_counts", "dest_displs", "source_counts", "source_displs")
"""Lists of counts and places that collective routines take."""

NO_LIST = -1
"""Length of a list that was left out."""


NO_DTYPE = len(RMA_TYPES)
"""The dtype in the word of a call that has none."""

ROUTINES: list[str] = []
"""Names of routines by the numbers that kernels write into the record."""


def number(routine: str) -> int:
    """Return a new number that stands for a routine in kernels."""
    ROUTINES.append(routine)
    return len(ROUTINES) - 1


def call_word(routine: int, dtype: object = None) -> int:
    """Return what stands for a collective call in kernels; the root, or the strides, go into bits 16 and above."""
    return routine + 256 * (NO_DTYPE if dtype is None else RMA_TYPES.index(str(dtype)))


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
