"""The record that a kernel writes when an argument is wrong, and the numbers that stand for names in it.

Kernels always check the sizes of the arrays of puts and gets, and other arguments when ``ISHMEM_CHECK`` is set. The
host turns the record into an error: ``ishmem.runtime.violation_errors``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ishmem.common import packed_text, routines
from ishmem.common.constants import Cmp, MemoryOrder, SignalOp
from ishmem.common.routines import GROUP

NO_PE, NOT_SYMMETRIC, OUTSIDE, NO_TEAM, NO_TEAM_PE, STRIDE, MISMATCH, NO_LOCK = range(1, 9)
WRONG_LENGTH, NEGATIVE, UNEQUAL, INDEX, RAISED = range(9, 14)
MISFIT, NO_MEMBER, SIZES, NELEMS, DIFFERENT, GROUPS, ALIGN, ROWS, TILES, SET_SIZE = range(14, 24)

ENDED = 2
"""Value of `Violation.complete` if a wait has ended because of a loss, and nothing is wrong; else it is 1."""

LISTS = ("counts", "displs", "dest_counts", "dest_displs", "source_counts", "source_displs")
"""Lists of counts and displacements that collective routines take."""

OPTIONS: dict[str, type[IntEnum]] = {"cmp": Cmp, "sig_op": SignalOp, "order": MemoryOrder}
"""Arguments that are members of an enumeration, by name."""

CALL_WORDS = 6
"""Words of the record that name the call, 8 characters each."""

DETAIL_WORDS = 12
"""Words of the record that hold the shape of an array, or the text of an exception, 8 characters each."""

NO_LIST = -1
"""The length of a list that was left out."""

_TOGETHER = (
    "iput or ibput", "iget or ibget", "put_signal, signal_set or signal_add", "barrier_all, sync_all or team_sync",
    "wait_until_all, _any or _some", "test_all, _any or _some",
)  # fmt: skip
"""Routines that share device code."""

_OF_INFERENCE = (
    "all_reduce_work_group", "Communicator.all_reduce", "Communicator.all_gather", "Communicator.reduce_scatter",
    "Communicator.all_reduce_add_rms_norm", "Buffer.dispatch",
)  # fmt: skip

_IN_GROUPS = tuple(f"{row.name}{GROUP}" for row in routines.ROUTINES.values() if GROUP in row.forms)

ROUTINES = (*routines.ROUTINES, *_IN_GROUPS, *_TOGETHER, *_OF_INFERENCE)
"""Names of routines by the numbers that kernels write into the record; a call id has 8 bits for them."""

ARGUMENTS = (
    "dest", "source", "pe", "nelems", "index", "dst", "sst", "bsize", "nblocks", "team", "root", "indices", "mask",
    "ivar", "ivars", "cmp", "cmp_value", "cmp_values", "status", "sig_addr", "signal", "sig_op", "call_site",
    "workspace", "group", "counter", *LISTS,
)  # fmt: skip
"""Names of arguments by the numbers that kernels write into the record."""


def routine_number(routine: str) -> int:
    """Return the number that represents the routine of a name, one of `ROUTINES`, in kernels."""
    return ROUTINES.index(routine)


def argument_number(name: str) -> int:
    """Return the number that represents the name of an argument, one of `ARGUMENTS`, in kernels."""
    return ARGUMENTS.index(name)


class Violation(NamedTuple):
    """The record of the first wrong call of this PE's kernels, one int64 a field.

    Attributes:
        claimed: Nonzero once a work-item has found a violation.
        complete: Nonzero once that work-item has written all fields.
        pe: The PE, or -1 for an array of this PE; for a team or a member of one that does not exist, its number.

    For collective calls that do not match, ``address`` and ``first`` are the call id and the elements on this PE,
    ``size`` and ``nelems`` those on the other PE. For a list, ``pe`` is its index in `LISTS`; ``nelems`` is its length
    and ``size`` that of the team, or ``nelems`` is its entry ``first``. If ``alltoallv`` sends another number of
    elements than the receiver expects, ``address`` is the sender.
    For an index out of bounds of an array access, ``first`` is the index, ``pe`` its dimension, ``size`` the number of
    dimensions, and the details are the extents. For an exception in a kernel, the details are its class and text.
    For a number that does not fit a dtype, ``first`` is the number, ``size`` 1 if it is unsigned, and ``pe`` the index
    of the dtype in `RMA_TYPES`. For an argument that is none of the constants, ``first`` is its value and ``pe`` its
    index in `OPTIONS`. For an array that is too short, ``first`` is the size of ``dest`` and ``size`` that of
    ``source``. For strides, ``first`` and ``nelems`` are those of ``dest`` and ``source``, and ``size`` is the least
    allowed. For an element that is no lock, ``first`` is its index and ``nelems`` the word.
    For a number that is no PE of a team, ``first`` is the index of the argument in `ARGUMENTS`, and ``size`` the
    number of PEs. For an argument that differs in a group, ``pe`` is its index in `ARGUMENTS`, ``first`` the number of
    work-items that pass another one than the first, and ``size`` that of the group. For a launch of too many
    work-groups, ``first`` is their number and ``size`` the largest allowed one. For an array that is not aligned,
    ``size`` is that of an element. For rows of tokens that differ, ``first`` and ``nelems`` contain their bytes, here
    and on the other PE, in the upper half, and those of their scales in the lower one.
    ``item`` is 1 plus the number of the work-item; after the call, this work-item writes kernel, file and line into
    the words ``call0`` and so on.
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
    item: int = 0
    call0: int = 0
    call1: int = 0
    call2: int = 0
    call3: int = 0
    call4: int = 0
    call5: int = 0
    detail0: int = 0
    detail1: int = 0
    detail2: int = 0
    detail3: int = 0
    detail4: int = 0
    detail5: int = 0
    detail6: int = 0
    detail7: int = 0
    detail8: int = 0
    detail9: int = 0
    detail10: int = 0
    detail11: int = 0

    @property
    def call(self) -> str:
        """Kernel, file and line of the call; empty if they are not known."""
        return packed_text.unpack(self[-DETAIL_WORDS - CALL_WORDS : -DETAIL_WORDS])

    @property
    def details(self) -> tuple[int, ...]:
        """The extents of an array, ``size`` numbers."""
        return self[-DETAIL_WORDS:][: self.size]

    @property
    def exception(self) -> str:
        """Class and text of an exception."""
        return packed_text.unpack(self[-DETAIL_WORDS:])

    @staticmethod
    def words_of(call: str) -> tuple[int, ...]:
        """Return a text packed into the words of a call; a longer text loses its beginning."""
        return packed_text.pack(call, CALL_WORDS)

    @staticmethod
    def detail_words(text: str) -> tuple[int, ...]:
        """Return a text packed into the words of the details; a longer text loses its end."""
        return packed_text.pack(text[: 8 * DETAIL_WORDS], DETAIL_WORDS)

    @classmethod
    def at(cls, field: str) -> int:
        """Return the offset of a field in the record, in bytes."""
        return 8 * cls._fields.index(field)

    @classmethod
    def nbytes(cls) -> int:
        """Return the size of the record in bytes."""
        return 8 * len(cls._fields)
