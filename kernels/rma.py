"""Remote memory access inside kernels: the device forms of ``ishmem.rma``.

On a reachable peer, an operation loads the distance to the peer's heap from a table, adds it to the address, and loads
and stores the data. On other PEs it sends a request to the proxy: see ``ishmem.kernels.proxy``.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import rma
from ishmem.common.shared_numbers import FROM_PROGRAM, NBI
from ishmem.common.violations import NELEMS, SIZES, routine_number

from . import type_checks
from .copy import WIDEST, copy_elements, copy_wide, is_wide
from .forms import form, forms, integers
from .intrinsics import (
    address_of,
    as_words,
    compiled,
    device_function,
    group_barrier,
    item_bytes,
    load_element,
    rank_in,
    size_of,
    store_element,
    zero_of,
)
from .options import CHECK, LATE
from .peers import keep_load_here, on_peer, shift_of
from .proxy import (
    GET,
    PUT,
    copy_by_proxy,
    delta_if_reachable,
    load_by_proxy,
    reachable,
    store_by_proxy,
)
from .proxy_ring import await_put, await_ticket
from .runtime_checks import allowed, both_fit, have_room, report, value_fits
from .strided import are_views, check_views, move_view

PUT_ROUTINE, GET_ROUTINE, P_ROUTINE, G_ROUTINE = map(routine_number, ("put", "get", "p", "g"))
SCALARS = (types.Number, types.Boolean)


def _check(routine: str, dest: Any, source: Any, pe: Any, nelems: Any) -> int:
    """Check the argument types; return 0 for contiguous arrays, 1 for others, or 2 for a value to put."""
    type_checks.integer(routine, "pe", pe)
    if routine.startswith("put") and isinstance(source, SCALARS):
        type_checks.contiguous(routine, dest=dest)
        type_checks.value(routine, "source", source, dest.dtype)
        return 2
    is_view = are_views(dest, source)
    if is_view:
        check_views(routine, nelems, dest=dest, source=source)
    else:
        type_checks.contiguous(routine, dest=dest, source=source)
    type_checks.same_dtype(dest, source)
    return int(is_view)


@compiled
def _is_one_element(count):
    """Return whether to move one element without checking the size of the other array.

    Only an empty array is too small for it. In the simulator, a check made a loop of such puts 16 to 60 % slower.
    """
    return not CHECK and count == 1


def _make_checks(is_put: bool) -> tuple[Any, Any]:
    """Make the functions for the size of the local array of a put or get, and for the check of its arguments."""
    routine = PUT_ROUTINE if is_put else GET_ROUTINE

    @compiled
    def local_size(dest, source):
        return source.size if is_put else dest.size

    @compiled
    def is_allowed(dest, source, pe, count, problem):
        fit = _is_one_element(count) or have_room(routine, dest, source, pe, count, problem)
        return fit and allowed(routine, dest if is_put else source, pe, 0, 0)

    return local_size, is_allowed


def _make_transfer(is_put: bool, nbi: bool) -> Any:
    """Make the put or get of one work-item (``group`` is None) or of a work-group."""
    local_size, is_allowed = _make_checks(is_put)

    @device_function
    def transfer(dest, source, pe, nelems, group):
        """Transfer ``nelems`` elements; by default the whole local array."""
        whole = type_checks.absent(nelems)
        problem = SIZES if whole else NELEMS
        flags = FROM_PROGRAM | NBI if nbi and LATE else FROM_PROGRAM
        to_peer, from_peer = PUT | flags, GET | flags
        with_value = is_put and not LATE  # one element goes in the request: no wait for the proxy

        def transfer_elements(dest, source, pe, nelems, group):
            count = local_size(dest, source) if whole else nelems
            delta, to, origin = delta_if_reachable(pe), address_of(dest), address_of(source)
            away = delta + shift_of(to if is_put else origin, pe)
            to_address, from_address = (to + away, origin) if is_put else (to, origin + away)
            nbytes, rank, size = count * item_bytes(dest), rank_in(group), size_of(group)
            fit = keep_load_here(delta) & both_fit(dest, source, count)
            fit &= is_wide(to_address, from_address, nbytes) & reachable(pe)
            if not CHECK and fit:
                if rank < nbytes // WIDEST:  # of a large group with a short copy, most work-items have nothing to do
                    copy_wide(to_address, from_address, nbytes, group)
            elif keep_load_here(delta) and is_allowed(dest, source, pe, count, problem):
                if reachable(pe):
                    copy_elements(dest, to_address, from_address, count, rank, size)
                elif rank == 0:
                    if with_value and count == 1:
                        store_by_proxy(dest, load_element(origin, 0, source), pe, to)
                    elif is_put:
                        await_put(copy_by_proxy(to_peer, pe, to, origin, nbytes))
                    else:
                        await_ticket(copy_by_proxy(from_peer, pe, origin, to, nbytes))

        return transfer_elements

    return transfer


def _make_view_transfer(is_put: bool) -> Any:
    """Make the put or get of arrays of which at least one is not contiguous."""
    local_size, is_allowed = _make_checks(is_put)

    @compiled
    def transfer(dest, source, pe, nelems, group):
        count = local_size(dest, source)
        if is_allowed(dest, source, pe, count, SIZES):
            move_view(is_put, dest, source, pe, count, group)

    return transfer


def _put_scalar(dest, source, pe, group, nelems=None):
    """Put one value into an array of one element."""
    group_barrier(group)
    count = 1 if nelems is None else nelems
    if _is_one_element(count) or 0 <= count <= min(dest.size, 1):
        if rank_in(group) == 0 and count == 1:
            rma.p(dest, source, pe, 0)
    else:
        report(PUT_ROUTINE, NELEMS, pe, address_of(dest), dest.size, count, 1)
    group_barrier(group)


def _of_arrays(transfer: Any) -> Any:
    """Make the body of a put or get of arrays."""

    def body(dest, source, pe, group, nelems=None):
        group_barrier(group)
        transfer(as_words(dest), as_words(source), pe, nelems, group)
        group_barrier(group)

    return body


def _register(name: str, is_put: bool) -> None:
    """Register a routine, its work-group form and the nonblocking forms.

    Kernels never defer loads and stores, so blocking and nonblocking forms are the same code. Only a proxy that holds
    operations treats the nonblocking ones differently.
    """
    view = _of_arrays(_make_view_transfer(is_put))
    forms(rma, name, _check, _of_arrays(_make_transfer(is_put, False)), view, _put_scalar)
    forms(rma, f"{name}_nbi", _check, _of_arrays(_make_transfer(is_put, True)), view, _put_scalar)


_register("put", True)
_register("get", False)


def _check_element(routine: str, pe: Any, index: Any, value: Any = None, **array: Any) -> None:
    type_checks.contiguous(routine, **array)
    integers(routine, pe=pe, index=index)
    if value is not None:
        type_checks.value(routine, "value", value, array["dest"].dtype)


def _p(dest, value, pe, index=0):
    if allowed(P_ROUTINE, dest, pe, index, 1) and value_fits(P_ROUTINE, dest, value):
        if reachable(pe):
            store_element(on_peer(address_of(dest), pe), index, dest, value)
        else:
            store_by_proxy(dest, value, pe, address_of(dest) + index * item_bytes(dest))


def _g(source, pe, index=0):
    if allowed(G_ROUTINE, source, pe, index, 1):
        if reachable(pe):
            return load_element(on_peer(address_of(source), pe), index, source)
        return load_by_proxy(source, pe, address_of(source) + index * item_bytes(source))
    return zero_of(source)


form(rma.p, _check_element, _p)
form(rma.g, _check_element, _g)
