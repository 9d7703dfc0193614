"""Atomic operations inside kernels: the device forms of ``ishmem.amo``, generated from the table ``ATOMICS``."""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from numba.core import types

from ishmem import amo
from ishmem.common.constants import MemoryOrder
from ishmem.common.type_tables import ATOMICS, Atomic, Rmw
from ishmem.common.violations import number

from . import type_checks
from .front_end import device_func
from .integers import fits_dtype
from .intrinsics import (
    address_of,
    atomic,
    atomic_add_float,
    atomic_max_float,
    atomic_min_float,
    compiled,
    device,
    device_function,
    item_bytes,
    memory_fence,
    store,
)
from .memory_orders import AMO, WAIT
from .options import LATE
from .proxy import atomic_by_proxy as by_proxy, has_atomics, order_stores, update_by_proxy
from .regions import on_peer
from .runtime_checks import allowed, is_order, value_fits

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


acquired = memory_fence(WAIT)


@compiled
def before(routine, order):
    """Order earlier operations before an atomic, if its memory order asks for it."""
    if is_order(routine, order) and order & MemoryOrder.RELEASE:
        order_stores()


@compiled
def after(order):
    """Order later accesses after an atomic, if its memory order asks for it."""
    if order & MemoryOrder.ACQUIRE:
        acquired()


def _check(routine: Atomic, target: Any, operands: tuple[Any, ...], pe: Any, index: Any) -> None:
    name = "source" if routine.rmw is Rmw.FETCH else "dest"
    type_checks.array(routine.name, name, target, routine.types)
    type_checks.contiguous(routine.name, **{name: target})
    type_checks.integer(routine.name, "pe", pe)
    type_checks.integer(routine.name, "index", index)
    for operand, kind in zip(routine.operands, operands):
        type_checks.value(routine.name, operand, kind, target.dtype)


def _is_relaxed(order: Any) -> bool:
    """Return whether an order is left out."""
    return isinstance(order, (int, types.Omitted))


def _with_order(routine: Atomic, host: Callable[..., Any], relaxed: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``relaxed``, which chooses the implementation of an atomic, extended by the other memory orders."""
    signature = inspect.signature(relaxed)
    ordered = _ordered(number(routine.name), host)[tuple(signature.parameters)]

    @functools.wraps(relaxed)
    def choose(*arguments: Any, **named: Any) -> Any:
        implementation = relaxed(*arguments, **named)
        order = signature.bind(*arguments, **named).arguments.get("order", 0)
        if _is_relaxed(order):
            return implementation
        type_checks.member(routine.name, "order", order)
        return ordered

    return choose


def _ordered(this: int, relaxed: Callable[..., Any]) -> dict[tuple[str, ...], Callable[..., Any]]:
    """Return the forms of an atomic that order other accesses, by their parameters."""

    def fetch(source, pe, index=0, order=0):
        before(this, order)
        old = relaxed(source, pe, index)
        after(order)
        return old

    def increment(dest, pe, index=0, order=0):
        before(this, order)
        old = relaxed(dest, pe, index)
        after(order)
        return old

    def with_value(dest, value, pe, index=0, order=0):
        before(this, order)
        old = relaxed(dest, value, pe, index)
        after(order)
        return old

    def with_condition(dest, cond, value, pe, index=0, order=0):
        before(this, order)
        old = relaxed(dest, cond, value, pe, index)
        after(order)
        return old

    return {tuple(inspect.signature(form).parameters): form for form in (fetch, increment, with_value, with_condition)}


def _register_fetching(routine: Atomic, host: Callable[..., Any]) -> None:
    """Register a fetching atomic."""
    run, this, rmw = INSTRUCTIONS[routine.rmw], number(routine.name), int(routine.rmw)

    def fetch(source, pe, index=0, order=0):
        _check(routine, source, (), pe, index)
        zero = source.dtype(0)

        def impl(source, pe, index=0, order=0):
            if allowed(this, source, pe, index, 1):
                at = address_of(source) + index * item_bytes(source)
                return run(on_peer(at, pe), source) if has_atomics(pe) else by_proxy(rmw, source, pe, at, 0, 0)
            return zero

        return impl

    def increment(dest, pe, index=0, order=0):
        _check(routine, dest, (), pe, index)
        zero = dest.dtype(0)

        def impl(dest, pe, index=0, order=0):
            if allowed(this, dest, pe, index, 1):
                at = address_of(dest) + index * item_bytes(dest)
                return run(on_peer(at, pe), dest, 1) if has_atomics(pe) else by_proxy(rmw, dest, pe, at, 1, 0)
            return zero

        return impl

    def with_value(dest, value, pe, index=0, order=0):
        _check(routine, dest, (value,), pe, index)
        zero, operation = dest.dtype(0), routine.rmw.of(dest.dtype)
        run, rmw = INSTRUCTIONS[operation], int(operation)

        def impl(dest, value, pe, index=0, order=0):
            if allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    return run(on_peer(at, pe), dest, value)
                return by_proxy(rmw, dest, pe, at, value, 0)
            return zero

        return impl

    def with_condition(dest, cond, value, pe, index=0, order=0):
        _check(routine, dest, (cond, value), pe, index)
        zero = dest.dtype(0)

        def impl(dest, cond, value, pe, index=0, order=0):
            if allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    return run(on_peer(at, pe), dest, value, cond)
                return by_proxy(rmw, dest, pe, at, value, cond)
            return zero

        return impl if type_checks.holds(dest.dtype, cond) else _if_possible(impl)

    form = fetch if routine.rmw is Rmw.FETCH else (increment, with_value, with_condition)[len(routine.operands)]
    device(host)(_with_order(routine, host, form))


def _if_possible(compare_swap: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compare-and-swap that fetches only if its condition does not fit the dtype."""
    swap = device_func(compare_swap)

    def impl(dest, cond, value, pe, index=0, order=0):
        if fits_dtype(dest, cond):
            return swap(dest, cond, value, pe, index)
        return amo.atomic_fetch(dest, pe, index)

    return impl


def _make_update(routine: Atomic) -> Any:
    """Make the non-fetching form for jobs in which the proxy holds such operations."""
    this = number(routine.name)

    @device_function
    def update(dest, value, pe, index):
        operation = routine.rmw.of(dest.dtype)
        run, rmw = INSTRUCTIONS[operation], int(operation)

        def impl(dest, value, pe, index):
            if allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                at = address_of(dest) + index * item_bytes(dest)
                if has_atomics(pe):
                    run(on_peer(at, pe), dest, value)
                else:
                    update_by_proxy(rmw, dest, pe, at, value)

        return impl

    return update


def _register_void(routine: Atomic, host: Callable[..., Any], fetching: Callable[..., Any]) -> None:
    """Register a non-fetching atomic: it calls the fetching form and discards the value."""
    this = number(routine.name)
    update = _make_update(routine)

    def increment(dest, pe, index=0, order=0):
        _check(routine, dest, (), pe, index)

        def impl(dest, pe, index=0, order=0):
            if LATE:
                update(dest, 1, pe, index)
            elif allowed(this, dest, pe, index, 1):
                fetching(dest, pe, index)

        return impl

    def with_value(dest, value, pe, index=0, order=0):
        _check(routine, dest, (value,), pe, index)

        def impl(dest, value, pe, index=0, order=0):
            if LATE:
                update(dest, value, pe, index)
            elif allowed(this, dest, pe, index, 1) and value_fits(this, dest, value):
                fetching(dest, value, pe, index)

        return impl

    device(host)(_with_order(routine, host, (increment, with_value)[len(routine.operands)]))


def _register_nbi(routine: Atomic, host: Callable[..., Any], fetching: Callable[..., Any]) -> None:
    """Register the nonblocking form, which stores the old value in the first element of ``fetch``."""

    def check(fetch: Any, target: Any, operands: tuple[Any, ...], pe: Any, index: Any) -> None:
        _check(routine, target, operands, pe, index)
        type_checks.contiguous(f"{routine.name}_nbi", fetch=fetch)
        type_checks.same_dtype(target, fetch)

    def load_only(fetch, source, pe, index=0):
        check(fetch, source, (), pe, index)
        return lambda fetch, source, pe, index=0: store(address_of(fetch), fetch, fetching(source, pe, index))

    def increment(fetch, dest, pe, index=0):
        check(fetch, dest, (), pe, index)
        return lambda fetch, dest, pe, index=0: store(address_of(fetch), fetch, fetching(dest, pe, index))

    def with_value(fetch, dest, value, pe, index=0):
        check(fetch, dest, (value,), pe, index)
        return lambda fetch, dest, value, pe, index=0: store(address_of(fetch), fetch, fetching(dest, value, pe, index))

    def with_condition(fetch, dest, cond, value, pe, index=0):
        check(fetch, dest, (cond, value), pe, index)
        return lambda fetch, dest, cond, value, pe, index=0: store(
            address_of(fetch), fetch, fetching(dest, cond, value, pe, index)
        )

    shapes = (increment, with_value, with_condition)
    device(host)(load_only if routine.rmw is Rmw.FETCH else shapes[len(routine.operands)])


for _routine in ATOMICS.values():
    _host = getattr(amo, _routine.name)
    if _routine.fetches:
        _register_fetching(_routine, _host)
        _register_nbi(_routine, getattr(amo, f"{_routine.name}_nbi"), _host)
    else:
        _register_void(_routine, _host, getattr(amo, _routine.fetching))
