"""Functions of numba that assume one address space, replaced.

``docs/upstream.md`` has the text of a report to numba for each.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils


def pointer_add(builder: Any, ptr: Any, offset: Any, return_type: Any = None) -> Any:
    """Add bytes to a pointer, in the address space of the pointer; numba's function casts it to address space 0."""
    if isinstance(offset, int):
        offset = cgutils.intp_t(offset)
    base = builder.bitcast(ptr, cgutils.int8_t.as_pointer(getattr(ptr.type, "addrspace", 0)))
    return builder.bitcast(builder.gep(base, [offset]), return_type or ptr.type)


def install() -> None:
    """Replace the functions."""
    cgutils.pointer_add = pointer_add
