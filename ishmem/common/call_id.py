"""The id of a collective call in a kernel: one int64 that has to be equal on all PEs of the team.

Kernels pack it and compare the ids of all members; the host unpacks it to report how the calls differ.

=====  ==============================================
bits   field
=====  ==============================================
0-7    routine, from ``violations.number``
8-15   dtype, from `dtype_number`
16-39  root; 0 for routines without one
40-63  a number made from ``dst`` and ``sst``
=====  ==============================================

``dst`` and ``sst``, the strides of ``alltoalls`` and the row distances of tiles, have no limit. Their field is the last
one, so excess bits are lost and change no other field. An error contains this number only if no other field differs.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.type_tables import RMA_TYPES

DTYPES = (*RMA_TYPES, "bfloat16")
"""The dtypes by their numbers in an id."""

NO_DTYPE = len(DTYPES)
"""The number that stands for the dtype of a call without data."""

REFUSED = -1
"""The id that a PE publishes if its own arguments are wrong."""

DIFFERENT = -2
"""The id that a leader publishes for nodes whose calls differ; no call has it."""


class CallId(NamedTuple):
    """The fields of an id, as in the table of this module; ``strides`` is the number made from ``dst`` and ``sst``."""

    routine: int
    dtype: int
    root: int
    strides: int


def dtype_number(dtype: object) -> int:
    """Return the number that represents a dtype in an id."""
    return DTYPES.index(str(dtype))


def pack(routine, dtype, root, dst, sst):  # type: ignore[no-untyped-def]  # kernels compile it
    """Return the id of a call from numbers, as the table says; in Python it may exceed 64 bits, kernels truncate it."""
    return routine + (dtype << 8) + (root << 16) + ((dst + (dst << 12) + sst) << 40)


def routine_of(call_id):  # type: ignore[no-untyped-def]  # kernels compile it
    """Return the number of the routine of an id."""
    return call_id & 255


def unpack(call_id: int) -> CallId:
    """Return the fields of an id that is not `REFUSED`."""
    return CallId(routine_of(call_id), call_id >> 8 & 255, call_id >> 16 & 0xFFFFFF, call_id >> 40 & 0xFFFFFF)
