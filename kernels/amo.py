"""Atomic operations inside kernels: the device forms of ``ishmem.amo``, generated from the table ``ATOMICS``."""

from __future__ import annotations

import functools
from typing import Any

from numba.core import types

from ishmem import amo
from ishmem.common.constants import MemoryOrder
from ishmem.common.type_tables import ATOMICS, Atomic, Rmw
from ishmem.common.violations import routine_number

from . import type_checks
from .atomic_instructions import atomic, atomic_float, memory_fence
from .forms import form, integers
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
    Rmw.ADD_FLOAT: atomic_float("add", AMO),
    Rmw.MIN: atomic("AtomicSMin", AMO, operands=1),
    Rmw.MIN_UNSIGNED: atomic("AtomicUMin", AMO, operands=1),
    Rmw.MIN_FLOAT: atomic_float("min", AMO),
    Rmw.MAX: atomic("AtomicSMax", AMO, operands=1),
    Rmw.MAX_UNSIGNED: atomic("AtomicUMax", AMO, operands=1),
    Rmw.MAX_FLOAT: atomic_float("max", AMO),
}


acquire_fence = memory_fence(WAIT)


@compiled
def order_before(routine, order):
    """Order earlier operations before an atomic if its ``order`` includes a release; report an invalid one."""
    if is_order(routine, order) and order & MemoryOrder.RELEASE:
        order_stores()


@compiled
def order_after(order):
    """Order later accesses after an atomic if its memory ``order`` includes an acquire."""
    if order & MemoryOrder.ACQUIRE:
        acquire_fence()


@device_function
def operand(value):
    """Return the operand ``value`` of an atomic; 1 if it is absent, as for increments."""
    if type_checks.absent(value):
        return lambda: 1
    return lambda value: value


def _check(routine: Atomic, _name: str, pe: Any, index: Any, order: Any = 0, fetch: Any = None, **others: Any) -> bool:
    """Check the argument types of an atomic; return whether a memory ``order`` is passed."""
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
    """Make the device function of an atomic; it returns the old value if the routine fetches, else None."""
    number = routine_number(routine.name)

    @device_function
    def run_atomic(dest, cond, value, pe, index):
        operation = routine.rmw.of(dest.dtype)
        instruction, rmw = INSTRUCTIONS[operation], int(operation)
        may_misfit = not type_checks.holds(dest.dtype, cond)

        def fetch(dest, cond, value, pe, index):
            if may_misfit and not fits_dtype(dest, cond):  # no element equals it
                return amo.atomic_fetch(dest, pe, index)
            if allowed(number, dest, pe, index, 1) and value_fits(number, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    return instruction(on_peer(at, pe), dest, operand(value), operand(cond))
                return by_proxy(rmw, dest, pe, at, operand(value), operand(cond))
            return zero_of(dest)

        def update(dest, cond, value, pe, index):
            if allowed(number, dest, pe, index, 1) and value_fits(number, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    instruction(on_peer(at, pe), dest, operand(value), operand(cond))
                elif LATE:
                    update_by_proxy(rmw, dest, pe, at, operand(value))
                else:
                    by_proxy(rmw, dest, pe, at, operand(value), operand(cond))

        return fetch if routine.fetches else update

    return run_atomic


def _register(routine: Atomic) -> None:
    """Register an atomic and, if it fetches, its nonblocking form, which stores the old value in ``fetch[0]``."""
    number, run, check = routine_number(routine.name), _make_atomic(routine), functools.partial(_check, routine)

    def relaxed(dest, cond, value, pe, index=0, order=0):
        return run(dest, cond, value, pe, index)

    def ordered(dest, cond, value, pe, index=0, order=0):
        order_before(number, order)
        old = run(dest, cond, value, pe, index)
        order_after(order)
        return old

    def nonblocking(fetch, dest, cond, value, pe, index=0):
        store(address_of(fetch), fetch, run(dest, cond, value, pe, index))

    changes = {"dest": "source"} if routine.rmw is Rmw.FETCH else {}
    form(getattr(amo, routine.name), check, relaxed, ordered, **changes)
    if routine.fetches:
        form(getattr(amo, f"{routine.name}_nbi"), check, nonblocking, **changes)


for _routine in ATOMICS.values():
    _register(_routine)
