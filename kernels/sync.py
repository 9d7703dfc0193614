"""Waiting and testing inside kernels: the device forms of ``ishmem.sync``.

A kernel that waits spins: it cannot yield, so what it waits for must be able to happen meanwhile.
"""

from __future__ import annotations

from typing import Any

from ishmem import sync
from ishmem.constants import Cmp
from ishmem.table import WAIT_TYPES

from . import arguments
from .intrinsics import address_of, atomic_load, device


def compare(seen, cmp, wanted):
    """Return whether ``seen`` compares with ``wanted`` as ``cmp`` says; in kernels only."""


@device(compare)
def _compare(seen, cmp, wanted):
    def impl(seen, cmp, wanted):
        if cmp == Cmp.EQ:
            return seen == wanted
        if cmp == Cmp.NE:
            return seen != wanted
        if cmp == Cmp.GT:
            return seen > wanted
        if cmp == Cmp.GE:
            return seen >= wanted
        if cmp == Cmp.LT:
            return seen < wanted
        return seen <= wanted

    return impl


def _check(routine: str, ivar: Any, cmp_value: Any, index: Any) -> Any:
    arguments.array(routine, "ivar", ivar, WAIT_TYPES)
    arguments.contiguous(routine, ivar=ivar)
    arguments.integer(routine, "index", index)
    arguments.value(routine, "cmp_value", cmp_value, ivar.dtype)
    return ivar.dtype


@device(sync.wait_until)
def _wait_until(ivar, cmp, cmp_value, index=0):
    dtype = _check("wait_until", ivar, cmp_value, index)

    def impl(ivar, cmp, cmp_value, index=0):
        address = address_of(ivar) + index * ivar.itemsize
        wanted = dtype(cmp_value)
        while not compare(atomic_load(address, ivar), cmp, wanted):
            pass

    return impl


@device(sync.test)
def _test(ivar, cmp, cmp_value, index=0):
    dtype = _check("test", ivar, cmp_value, index)

    def impl(ivar, cmp, cmp_value, index=0):
        address = address_of(ivar) + index * ivar.itemsize
        return compare(atomic_load(address, ivar), cmp, dtype(cmp_value))

    return impl
