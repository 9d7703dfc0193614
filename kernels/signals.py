"""Signals inside kernels: the device forms of ``ishmem.signals``."""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem import amo, rma, signals
from ishmem.common.constants import SignalOp
from ishmem.common.type_tables import SIGNAL_TYPES, Rmw
from ishmem.common.violations import number

from . import type_checks
from .integers import wanted_of
from .intrinsics import (
    address_of,
    atomic_load,
    compiled,
    device,
    group_barrier,
    group_sum,
    item_bytes,
    memory_fence,
    rank_in,
)
from .long_waits import forget, gives_up, tell_variable
from .memory_orders import SIGNAL
from .options import LATE
from .proxy import has_atomics, mark_held, signal_by_proxy
from .runtime_checks import allowed, is_cmp, is_sig_op, value_fits
from .wait import compare, look_until, seen_in_order

SIGNAL_FETCH, SIGNAL_WAIT_UNTIL = map(number, ("signal_fetch", "signal_wait_until"))
PUT_SIGNAL = number("put_signal, signal_set or signal_add")

SET, ADD = int(Rmw.SWAP), int(Rmw.ADD)

before_signal = memory_fence(SIGNAL)


def _check(routine: str, sig_addr: Any, signal: Any, index: Any, pe: Any = 0) -> None:
    type_checks.array(routine, "sig_addr", sig_addr, SIGNAL_TYPES)
    type_checks.contiguous(routine, sig_addr=sig_addr)
    if signal is not None:
        type_checks.value(routine, "signal", signal, sig_addr.dtype)
    type_checks.integer(routine, "index", index)
    type_checks.integer(routine, "pe", pe)


def _check_put(routine: str, sig_addr: Any, signal: Any, sig_op: Any, index: Any, pe: Any) -> None:
    _check(routine, sig_addr, signal, index, pe)
    type_checks.member(routine, "sig_op", sig_op)


@compiled
def is_update(sig_addr, signal, sig_op):
    """Return whether the arguments of a signal update are allowed."""
    return is_sig_op(PUT_SIGNAL, sig_op) and value_fits(PUT_SIGNAL, sig_addr, signal)


@compiled
def update(sig_addr, signal, sig_op, pe, index):
    """Set the signal on PE ``pe`` to a value, or add the value to it."""
    if not (is_update(sig_addr, signal, sig_op) and allowed(PUT_SIGNAL, sig_addr, pe, index, 1)):
        return  # here, so that the error names this routine and not the atomic one
    if sig_op == SignalOp.ADD:
        amo.atomic_add(sig_addr, signal, pe, index)
    else:
        amo.atomic_set(sig_addr, signal, pe, index)


@compiled
def update_after(sig_addr, signal, sig_op, pe, index, since):
    """Update the signal of a put, which the proxy may hold; ``since`` is from a `mark_held` before the put."""
    if not LATE or has_atomics(pe):
        update(sig_addr, signal, sig_op, pe, index)
    elif is_update(sig_addr, signal, sig_op) and allowed(PUT_SIGNAL, sig_addr, pe, index, 1):
        at, rmw = address_of(sig_addr) + index * item_bytes(sig_addr), ADD if sig_op == SignalOp.ADD else SET
        signal_by_proxy(rmw, sig_addr, pe, at, signal, since)


# Model: tests/models/signal.pml.
@device(signals.put_signal)
def _put_signal(dest, source, sig_addr, signal, sig_op, pe, nelems=None, index=0):
    _check_put("put_signal", sig_addr, signal, sig_op, index, pe)

    def impl(dest, source, sig_addr, signal, sig_op, pe, nelems=None, index=0):
        since = mark_held()
        rma.put(dest, source, pe, nelems)
        before_signal()
        update_after(sig_addr, signal, sig_op, pe, index, since)

    return impl


# Model: tests/models/work_group.pml.
@device(signals.put_signal_work_group)
def _put_signal_work_group(dest, source, sig_addr, signal, sig_op, pe, group, nelems=None, index=0):
    _check_put("put_signal_work_group", sig_addr, signal, sig_op, index, pe)

    def impl(dest, source, sig_addr, signal, sig_op, pe, group, nelems=None, index=0):
        since = mark_held() if rank_in(group) == 0 else 0
        rma.put_work_group(dest, source, pe, group, nelems)
        before_signal()  # each work-item orders its own stores
        group_barrier(group)
        if rank_in(group) == 0:
            before_signal()
            update_after(sig_addr, signal, sig_op, pe, index, since)
        group_barrier(group)

    return impl


# Kernels never defer stores, so the nonblocking forms are the blocking ones.
device(signals.put_signal_nbi)(_put_signal)
device(signals.put_signal_nbi_work_group)(_put_signal_work_group)


# Model: tests/models/signal.pml.
@device(signals.signal_fetch)
def _signal_fetch(sig_addr, index=0):
    _check("signal_fetch", sig_addr, None, index)
    zero = sig_addr.dtype(0)

    def impl(sig_addr, index=0):
        if allowed(SIGNAL_FETCH, sig_addr, 0, index, 1):
            seen = atomic_load(address_of(sig_addr) + index * item_bytes(sig_addr), sig_addr)
            seen_in_order()
            return seen
        return zero

    return impl


@device(signals.signal_add)
def _signal_add(sig_addr, signal, pe, index=0):
    _check("signal_add", sig_addr, signal, index, pe)
    return lambda sig_addr, signal, pe, index=0: update(sig_addr, signal, SignalOp.ADD, pe, index)


@device(signals.signal_set)
def _signal_set(sig_addr, signal, pe, index=0):
    _check("signal_set", sig_addr, signal, index, pe)
    return lambda sig_addr, signal, pe, index=0: update(sig_addr, signal, SignalOp.SET, pe, index)


# Model: tests/models/signal.pml.
@device(signals.signal_wait_until)
def _signal_wait_until(sig_addr, cmp, cmp_value, index=0, site=None):
    type_checks.may_wait("signal_wait_until")
    type_checks.site("signal_wait_until", site)
    type_checks.member("signal_wait_until", "cmp", cmp)
    _check("signal_wait_until", sig_addr, cmp_value, index)
    zero = sig_addr.dtype(0)

    def impl(sig_addr, cmp, cmp_value, index=0, site=None):
        wanted, told = wanted_of(sig_addr, cmp_value), False
        if not (allowed(SIGNAL_WAIT_UNTIL, sig_addr, 0, index, 1) and is_cmp(SIGNAL_WAIT_UNTIL, cmp)):
            return zero
        address = address_of(sig_addr) + index * item_bytes(sig_addr)
        seen = look_until(address, sig_addr, cmp, wanted)
        while not compare(seen, cmp, wanted):
            if gives_up():
                break
            told = tell_variable(sig_addr, index, seen, cmp, wanted, site, told)
            seen = look_until(address, sig_addr, cmp, wanted)
        if told:
            forget()
        seen_in_order()
        return seen

    return impl


@device(signals.signal_wait_until_work_group)
def _signal_wait_until_work_group(sig_addr, cmp, cmp_value, group, index=0, site=None):
    type_checks.may_wait("signal_wait_until_work_group")
    type_checks.site("signal_wait_until_work_group", site)
    type_checks.member("signal_wait_until_work_group", "cmp", cmp)
    _check("signal_wait_until_work_group", sig_addr, cmp_value, index)
    kind, zero = sig_addr.dtype, sig_addr.dtype(0)

    def impl(sig_addr, cmp, cmp_value, group, index=0, site=None):
        group_barrier(group)
        seen = zero
        if rank_in(group) == 0:
            seen = signals.signal_wait_until(sig_addr, cmp, cmp_value, index, site)
        all_see = kind(group_sum(group, types.int64(seen)))
        group_barrier(group)
        return all_see

    return impl
