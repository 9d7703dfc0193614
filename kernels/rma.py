"""Remote memory access inside kernels: the device forms of ``ishmem.rma``.

To a reachable peer each of them is one load from the table of peers, one add, and the loads and stores; for others
the host does it, see ``ishmem.kernels.proxy``.
"""

from __future__ import annotations

from typing import Any

from numba_dpex import kernel_api as kapi

from ishmem import query, rma
from ishmem.common.violations import UNREACHABLE, number

from . import type_checks
from .copy import copy_elements
from .intrinsics import address_of, at_address, device, group_rank, group_size, load, peer_delta, store
from .proxy import GET as FAR_GET, PUT as FAR_PUT, copy_far, load_far, reachable, store_far
from .proxy_ring import await_ticket
from .runtime_checks import allowed, fits, report

PUT, GET, P, G, PTR = map(number, ("put", "get", "p", "g", "ptr"))


def _check(routine: str, dest: Any, source: Any, pe: Any) -> None:
    type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    type_checks.integer(routine, "pe", pe)


@device(rma.put)
def _put(dest, source, pe, nelems=None):
    _check("put", dest, source, pe)
    whole = type_checks.absent(nelems)

    def impl(dest, source, pe, nelems=None):
        count = source.size if whole else nelems
        if allowed(PUT, dest, pe, 0, count) and fits(PUT, source, count):
            if reachable(pe):
                copy_elements(dest, address_of(dest) + peer_delta(pe), address_of(source), count, 0, 1)
            else:
                await_ticket(copy_far(FAR_PUT, pe, address_of(dest), address_of(source), count * dest.itemsize))

    return impl


@device(rma.get)
def _get(dest, source, pe, nelems=None):
    _check("get", dest, source, pe)
    whole = type_checks.absent(nelems)

    def impl(dest, source, pe, nelems=None):
        count = dest.size if whole else nelems
        if allowed(GET, source, pe, 0, count) and fits(GET, dest, count):
            if reachable(pe):
                copy_elements(dest, address_of(dest), address_of(source) + peer_delta(pe), count, 0, 1)
            else:
                await_ticket(copy_far(FAR_GET, pe, address_of(source), address_of(dest), count * dest.itemsize))

    return impl


@device(rma.put_work_group)
def _put_work_group(dest, source, pe, group, nelems=None):
    _check("put_work_group", dest, source, pe)
    whole = type_checks.absent(nelems)

    def impl(dest, source, pe, group, nelems=None):
        kapi.group_barrier(group)
        count = source.size if whole else nelems
        if allowed(PUT, dest, pe, 0, count) and fits(PUT, source, count):
            to, origin = address_of(dest), address_of(source)
            if reachable(pe):
                copy_elements(dest, to + peer_delta(pe), origin, count, group_rank(), group_size())
            elif group_rank() == 0:
                await_ticket(copy_far(FAR_PUT, pe, to, origin, count * dest.itemsize))
        kapi.group_barrier(group)

    return impl


@device(rma.get_work_group)
def _get_work_group(dest, source, pe, group, nelems=None):
    _check("get_work_group", dest, source, pe)
    whole = type_checks.absent(nelems)

    def impl(dest, source, pe, group, nelems=None):
        kapi.group_barrier(group)
        count = dest.size if whole else nelems
        if allowed(GET, source, pe, 0, count) and fits(GET, dest, count):
            to, origin = address_of(dest), address_of(source)
            if reachable(pe):
                copy_elements(dest, to, origin + peer_delta(pe), count, group_rank(), group_size())
            elif group_rank() == 0:
                await_ticket(copy_far(FAR_GET, pe, origin, to, count * dest.itemsize))
        kapi.group_barrier(group)

    return impl


# Stores and loads are never left for later, so the non-blocking forms are the same.
device(rma.put_nbi)(_put)
device(rma.get_nbi)(_get)
device(rma.put_nbi_work_group)(_put_work_group)
device(rma.get_nbi_work_group)(_get_work_group)


@device(rma.p)
def _p(dest, value, pe, index=0):
    type_checks.contiguous("p", dest=dest)
    type_checks.integer("p", "pe", pe)
    type_checks.integer("p", "index", index)
    type_checks.value("p", "value", value, dest.dtype)

    def impl(dest, value, pe, index=0):
        if allowed(P, dest, pe, index, 1):
            place = address_of(dest) + index * dest.itemsize
            if reachable(pe):
                store(place + peer_delta(pe), dest, value)
            else:
                store_far(dest, value, pe, place)

    return impl


@device(rma.g)
def _g(source, pe, index=0):
    type_checks.contiguous("g", source=source)
    type_checks.integer("g", "pe", pe)
    type_checks.integer("g", "index", index)
    zero = source.dtype(0)

    def impl(source, pe, index=0):
        if allowed(G, source, pe, index, 1):
            place = address_of(source) + index * source.itemsize
            if reachable(pe):
                return load(place + peer_delta(pe), source)
            return load_far(source, pe, place)
        return zero

    return impl


@device(query.ptr)
def _ptr(a, pe):
    type_checks.array("ptr", "a", a)
    type_checks.integer("ptr", "pe", pe)

    def impl(a, pe):
        if allowed(PTR, a, pe, 0, 0):
            if reachable(pe):
                return at_address(a, address_of(a) + peer_delta(pe))
            # A kernel has no None; the host raises, and this PE's own memory is at least there.
            report(PTR, UNREACHABLE, pe, address_of(a), 0, 0, a.size)
        return a

    return impl
