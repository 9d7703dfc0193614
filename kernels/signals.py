"""Signals inside kernels: the device forms of ``ishmem.signals``."""

from __future__ import annotations

from typing import Any

from ishmem import amo, rma, signals
from ishmem.common.constants import SignalOp
from ishmem.common.type_tables import SIGNAL_TYPES, Rmw
from ishmem.common.violations import routine_number

from . import type_checks
from .atomic_instructions import atomic_load, memory_fence
from .forms import form, forms
from .intrinsics import address_of, compiled, from_one, group_barrier, item_bytes, rank_in, zero_of
from .memory_orders import SIGNAL
from .options import LATE
from .proxy import has_atomics, mark_held, signal_by_proxy
from .runtime_checks import allowed, is_sig_op, value_fits
from .wait import await_element, wait_fence

SIGNAL_FETCH, SIGNAL_WAIT_UNTIL = map(routine_number, ("signal_fetch", "signal_wait_until"))
PUT_SIGNAL = routine_number("put_signal, signal_set or signal_add")

SET, ADD = int(Rmw.SWAP), int(Rmw.ADD)

signal_fence = memory_fence(SIGNAL)


def _check(routine: str, sig_addr: Any, index: Any, pe: Any = 0, signal: Any = None) -> None:
    type_checks.array(routine, "sig_addr", sig_addr, SIGNAL_TYPES)
    type_checks.contiguous(routine, sig_addr=sig_addr)
    if signal is not None:
        type_checks.value(routine, "signal", signal, sig_addr.dtype)
    type_checks.integer(routine, "index", index)
    type_checks.integer(routine, "pe", pe)


def _check_put(routine: str, sig_op: Any, sig_addr: Any, signal: Any, index: Any, pe: Any, **_others: Any) -> None:
    _check(routine, sig_addr, index, pe, signal)
    type_checks.member(routine, "sig_op", sig_op)


def _check_wait(routine: str, sig_addr: Any, cmp: Any, cmp_value: Any, index: Any) -> None:
    type_checks.member(routine, "cmp", cmp)
    _check(routine, sig_addr, index, signal=cmp_value)


@compiled
def is_update(sig_addr, signal, sig_op):
    """Return whether the dtype of ``sig_addr`` has the value ``signal`` and ``sig_op`` exists; report it if not."""
    return is_sig_op(PUT_SIGNAL, sig_op) and value_fits(PUT_SIGNAL, sig_addr, signal)


@compiled
def update(sig_addr, signal, sig_op, pe, index):
    """Set ``sig_addr[index]`` on PE ``pe`` to ``signal``, or add it, as ``sig_op`` states; report wrong arguments."""
    if not (is_update(sig_addr, signal, sig_op) and allowed(PUT_SIGNAL, sig_addr, pe, index, 1)):
        return  # here, so that the error names this routine and not the atomic one
    if sig_op == SignalOp.ADD:
        amo.atomic_add(sig_addr, signal, pe, index)
    else:
        amo.atomic_set(sig_addr, signal, pe, index)


@compiled
def update_after(sig_addr, signal, sig_op, pe, index, since):
    """Run `update` after the data of a put, which the proxy may hold; ``since`` is `mark_held` before the put."""
    if not LATE or has_atomics(pe):
        update(sig_addr, signal, sig_op, pe, index)
    elif is_update(sig_addr, signal, sig_op) and allowed(PUT_SIGNAL, sig_addr, pe, index, 1):
        at, rmw = address_of(sig_addr) + index * item_bytes(sig_addr), ADD if sig_op == SignalOp.ADD else SET
        signal_by_proxy(rmw, sig_addr, pe, at, signal, since)


# Model: tests/models/signal.pml.
def _put_signal(dest, source, sig_addr, signal, sig_op, pe, nelems=None, index=0):
    since = mark_held()
    rma.put(dest, source, pe, nelems)
    signal_fence()
    update_after(sig_addr, signal, sig_op, pe, index, since)


# Model: tests/models/work_group.pml.
def _put_signal_work_group(dest, source, sig_addr, signal, sig_op, pe, group, nelems=None, index=0):
    since = mark_held() if rank_in(group) == 0 else 0
    rma.put_work_group(dest, source, pe, group, nelems)  # type: ignore[attr-defined]  # made from the table
    signal_fence()  # each work-item orders its own stores
    group_barrier(group)
    if rank_in(group) == 0:
        signal_fence()
        update_after(sig_addr, signal, sig_op, pe, index, since)
    group_barrier(group)


# Model: tests/models/signal.pml.
def _signal_fetch(sig_addr, index=0):
    if allowed(SIGNAL_FETCH, sig_addr, 0, index, 1):
        seen = atomic_load(address_of(sig_addr) + index * item_bytes(sig_addr), sig_addr)
        wait_fence()
        return seen
    return zero_of(sig_addr)


def _make_update(operation: SignalOp) -> Any:
    """Make the body of ``signal_add`` or ``signal_set``."""

    def body(sig_addr, signal, pe, index=0):
        update(sig_addr, signal, operation, pe, index)

    return body


def _signal_wait_until(sig_addr, cmp, cmp_value, group, index=0, call_site=None):
    group_barrier(group)
    seen = zero_of(sig_addr)
    if rank_in(group) == 0:
        seen = await_element(SIGNAL_WAIT_UNTIL, sig_addr, cmp, cmp_value, index, call_site)
    seen = from_one(group, seen)
    group_barrier(group)
    return seen


# Kernels never defer stores, so the nonblocking forms are the blocking ones.
for _host in (signals.put_signal, signals.put_signal_nbi):
    form(_host, _check_put, _put_signal)
for _host in (getattr(signals, f"{_name}_work_group") for _name in ("put_signal", "put_signal_nbi")):
    form(_host, _check_put, _put_signal_work_group)
forms(signals, "signal_wait_until", _check_wait, _signal_wait_until)
form(signals.signal_fetch, _check, _signal_fetch)
form(signals.signal_add, _check, _make_update(SignalOp.ADD))
form(signals.signal_set, _check, _make_update(SignalOp.SET))
