"""Atomic operations inside kernels: the device forms of ``ishmem.amo``, generated from the table ``ATOMICS``."""

from __future__ import annotations

import functools
from typing import Any, Callable

from numba.core import types

from ishmem import amo
from ishmem.common.constants import MemoryOrder
from ishmem.common.type_tables import ATOMICS, Atomic, Rmw
from ishmem.common.violations import number

from . import type_checks
from .atomic_instructions import atomic, atomic_add_float, atomic_max_float, atomic_min_float, memory_fence
from .forms import form, integers
from .front_end import device_func
from .intrinsics import address_of, compiled, device_function, item_bytes, store, zero_of
from .memory_orders import AMO, WAIT
from .options import LATE
from .peers import on_peer
from .proxy import atomic_by_proxy as by_proxy, has_atomics, order_stores, update_by_proxy
from .runtime_checks import allowed, fits_dtype, is_order, value_fits

INSTRUCTIONS = {
    Rmw.FETCH: atomic("AtomicLoad", AMO, operands=0),
    Rmw.SWAP: atomic("AtomicExchange", AMO, operands=1),
    Rmw.COMPARE_SWAP: atomic("AtomicCompareExchange", AMO, AMO, operands=2),
    Rmw.ADD: atomic("AtomicIAdd", AMO, operands=1),
    Rmw.AND: atomic("AtomicAnd", AMO, operands=1),
    Rmw.OR: atomic("AtomicOr", AMO, operands=1),
    Rmw.XOR: atomic("AtomicXor", AMO, operands=1),
    Rmw.ADD_FLOAT: atomic_add_float(AMO),
    Rmw.MIN: atomic("AtomicSMin", AMO, operands=1),
    Rmw.MIN_UNSIGNED: atomic("AtomicUMin", AMO, operands=1),
    Rmw.MIN_FLOAT: atomic_min_float(AMO),
    Rmw.MAX: atomic("AtomicSMax", AMO, operands=1),
    Rmw.MAX_UNSIGNED: atomic("AtomicUMax", AMO, operands=1),
    Rmw.MAX_FLOAT: atomic_max_float(AMO),
}


acquire_fence = memory_fence(WAIT)


@compiled
def before(routine, order):
    """Order earlier operations before an atomic, if its memory order asks for it."""
    if is_order(routine, order) and order & MemoryOrder.RELEASE:
        order_stores()


@compiled
def after(order):
    """Order later accesses after an atomic, if its memory order asks for it."""
    if order & MemoryOrder.ACQUIRE:
        acquire_fence()


@device_function
def operand(value):
    """Return an operand of an atomic; 1 if it has none."""
    if type_checks.absent(value):
        return lambda value: 1
    return lambda value: value


def _check(routine: Atomic, _name: str, pe: Any, index: Any, order: Any = 0, fetch: Any = None, **others: Any) -> bool:
    """Check the argument types; return whether the atomic has an order."""
    name = "source" if routine.rmw is Rmw.FETCH else "dest"
    target = others[name]
    type_checks.array(routine.name, name, target, routine.types)
    type_checks.contiguous(routine.name, **{name: target})
    integers(routine.name, pe=pe, index=index)
    for each in routine.operands:
        type_checks.value(routine.name, each, others[each], target.dtype)
    if fetch is not None:
        type_checks.contiguous(f"{routine.name}_nbi", fetch=fetch)
        type_checks.same_dtype(target, fetch)
    if isinstance(order, (int, types.Omitted)):
        return False
    type_checks.member(routine.name, "order", order)
    return True


def _make_atomic(routine: Atomic) -> Any:
    """Make an atomic, which returns the old value if it fetches."""
    this = number(routine.name)

    @device_function
    def do(dest, cond, value, pe, index):
        operation = routine.rmw.of(dest.dtype)
        run, rmw = INSTRUCTIONS[operation], int(operation)

        def fetch(dest, cond, value, pe, index):
            if allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    return run(on_peer(at, pe), dest, operand(value), operand(cond))
                return by_proxy(rmw, dest, pe, at, operand(value), operand(cond))
            return zero_of(dest)

        def update(dest, cond, value, pe, index):
            if allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    run(on_peer(at, pe), dest, operand(value), operand(cond))
                elif LATE:
                    update_by_proxy(rmw, dest, pe, at, operand(value))
                else:
                    by_proxy(rmw, dest, pe, at, operand(value), operand(cond))

        if not routine.fetches:
            return update
        return fetch if type_checks.holds(dest.dtype, cond) else _if_possible(fetch)

    return do


def _if_possible(compare_swap: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compare-and-swap that fetches only if its condition does not fit the dtype."""
    swap = device_func(compare_swap)

    def impl(dest, cond, value, pe, index):
        if fits_dtype(dest, cond):
            return swap(dest, cond, value, pe, index)
        return amo.atomic_fetch(dest, pe, index)

    return impl


def _register(routine: Atomic) -> None:
    """Register an atomic and its nonblocking form, which stores the old value in the first element of ``fetch``."""
    this, do, check = number(routine.name), _make_atomic(routine), functools.partial(_check, routine)

    def relaxed(dest, cond, value, pe, index=0, order=0):
        return do(dest, cond, value, pe, index)

    def ordered(dest, cond, value, pe, index=0, order=0):
        before(this, order)
        old = do(dest, cond, value, pe, index)
        after(order)
        return old

    def nonblocking(fetch, dest, cond, value, pe, index=0):
        store(address_of(fetch), fetch, do(dest, cond, value, pe, index))

    changes = {"dest": "source"} if routine.rmw is Rmw.FETCH else {}
    form(getattr(amo, routine.name), check, relaxed, ordered, **changes)
    if routine.fetches:
        form(getattr(amo, f"{routine.name}_nbi"), check, nonblocking, **changes)


for _routine in ATOMICS.values():
    _register(_routine)
