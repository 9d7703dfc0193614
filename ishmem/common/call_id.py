"""The id of a collective call in a kernel: one int64 that has to be equal on all PEs of the team.

Kernels pack it and compare the ids of all members; the host unpacks it to say how the calls differ.

=====  ==============================================
bits   field
=====  ==============================================
0-7    routine, from ``violations.number``
8-15   dtype, from `dtype_number`
16-27  ``sst`` of ``alltoalls``
28-39  ``dst`` of ``alltoalls``
40-63  root; 0 for routines without one
=====  ==============================================

Large strides carry into the next field, so they are compared but not unpacked.
"""

from __future__ import annotations

from typing import NamedTuple

from ishmem.common.type_tables import RMA_TYPES

DTYPES = (*RMA_TYPES, "bfloat16")
"""The dtypes by their numbers in an id."""

NO_DTYPE = len(DTYPES)
"""The dtype of a call without data."""

REFUSED = -1
"""The id that a PE gives when its own arguments are wrong."""

DIFFERENT = -2
"""The id that a leader gives for nodes whose calls differ; no call has it."""


class CallId(NamedTuple):
    """The fields of an id that an error names."""

    routine: int
    dtype: int
    root: int


def dtype_number(dtype: object) -> int:
    """Return the number of a dtype in an id."""
    return DTYPES.index(str(dtype))


def pack(routine, dtype, root, dst, sst):  # type: ignore[no-untyped-def]  # kernels compile it
    """Return the id of a call."""
    return routine + (dtype << 8) + (sst << 16) + (dst << 28) + (root << 40)


def routine_of(call_id):  # type: ignore[no-untyped-def]  # kernels compile it
    """Return the routine of an id."""
    return call_id & 255


def unpack(call_id: int) -> CallId:
    """Return the fields of an id that is not `REFUSED`."""
    return CallId(routine_of(call_id), call_id >> 8 & 255, call_id >> 40)
