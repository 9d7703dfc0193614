"""Long waits in kernels: a work-item that waits long describes its wait in a `KernelWait` in its PE's heap.

Once a PE is reported lost (`ishmem.runtime.losses`), waits for other PEs end after their first polls, and the host
raises the error. Waits for the proxy or for work-groups do not end so.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from ishmem.common import kernel_wait
from ishmem.common.kernel_wait import CALL, GROUP_CALL, LOCK, MEMBER, NONE_OF, PROXY, SITE, VARIABLE, WORDS, KernelWait
from ishmem.common.violations import ENDED, Violation

from . import spec_constants, type_checks
from .atomic_instructions import atomic_load_word
from .intrinsics import (
    I32,
    I64,
    IntrinsicCode,
    compiled,
    device_function,
    device_intrinsic,
    emit_volatile_load,
    load_volatile,
    store_tuple_volatile,
    store_volatile,
)
from .spec_constants import violation_record, wait_record

POLLS, LOST, _COMPLETE = kernel_wait.POLLS, kernel_wait.LOST, Violation.at("complete")

SPINS = POLLS - 1
"""A wait is recorded when the number of its failed polls has no bit of this mask: first after 2**16."""


@device_intrinsic
def poll_limit():
    """Return the number of polls after which a wait is recorded, as an int32; 1 after a loss."""

    def emit(code: IntrinsicCode):
        at = code.builder.add(spec_constants.emit(code.builder, "wait"), I64(LOST))
        return code.builder.sub(I32(POLLS), emit_volatile_load(code.builder, code.pointer(at, I32)))

    return types.int32(), emit


@compiled
def skipped_polls():
    """Return the number of polls that a wait skips before it is recorded: 0, or `SPINS` after a loss."""
    return load_volatile(wait_record() + LOST)


@compiled
def must_end_wait():
    """Return whether waits must end because a PE is lost; if so, set the violation record, so that the host raises."""
    if load_volatile(wait_record() + LOST) == 0:
        return False
    store_volatile(violation_record() + _COMPLETE, ENDED)
    return True


@device_intrinsic
def decremented(polls):
    """Return ``polls``, an int32, minus 1 in 32 bits: numba computes with 64 bits, which takes a GPU longer."""
    return types.int32(polls), lambda code, number: code.builder.sub(number, I32(1))


@device_intrinsic
def is_zero(polls):
    """Return whether ``polls``, an int32, is 0."""
    return types.boolean(polls), lambda code, number: code.builder.icmp_signed("==", number, I32(0))


def make_word_poll(lacks: Any) -> Any:
    """Make the device function that polls an int64 while ``lacks(seen, wanted)`` is true, up to `poll_limit` times."""

    @compiled
    def poll_word(address, wanted):
        """Return the int64 at an address once ``lacks(seen, wanted)`` is false, or after `poll_limit` polls."""
        seen = atomic_load_word(address)
        if lacks(seen, wanted):
            left = poll_limit()
            while lacks(seen, wanted):
                left = decremented(left)
                if is_zero(left):
                    break
                seen = atomic_load_word(address)
        return seen

    return poll_word


_KIND, _SEEN, _WANTED, _CMP, _ELEMENT, _PE, _UNSIGNED = map(KernelWait.at, KernelWait._fields[1:])


@device_intrinsic
def words_of(call_site):
    """Return the words of a call site; zeros if ``call_site`` is None, as the call is not known."""
    known = not type_checks.absent(call_site)
    return types.UniTuple(types.int64, WORDS)(call_site), lambda code, words: words if known else code.zero()


@compiled
def store_begun_call(words):
    """Store the call site of the collective call that this PE's kernels begin, as its ``words``."""
    store_tuple_volatile(wait_record() + CALL, words)


@compiled
def store_group_call_site(words):
    """Store the call site of the call of a group that this PE's kernels begin, as its ``words``."""
    store_tuple_volatile(wait_record() + GROUP_CALL, words)


@compiled
def may_record_wait(recorded):
    """Return whether this work-item may write the record: it has before (``recorded``), or no other one waits now."""
    # `or` is a branch, with which the simulator's runtime cannot make sub-groups of some kernels.
    return recorded | (load_volatile(wait_record()) == 0)


@compiled
def record_wait(kind, pe, element, seen, cmp, wanted, unsigned, words):
    """Write a wait into this PE's `KernelWait`: its fields, by name, and ``words`` of the call site. Return True."""
    record = wait_record()
    store_volatile(record + _KIND, kind)
    store_volatile(record + _SEEN, seen)
    store_volatile(record + _WANTED, wanted)
    store_volatile(record + _CMP, cmp)
    store_volatile(record + _ELEMENT, element)
    store_volatile(record + _PE, pe)
    store_volatile(record + _UNSIGNED, unsigned)
    store_tuple_volatile(record + SITE, words)  # no loop: LLVM makes it a switch on 63 bits
    store_volatile(record, 1)
    return True


@compiled
def clear_wait_record():
    """Clear the wait record, after the wait of the work-item that has written it."""
    store_volatile(wait_record(), 0)


@device_function
def record_variable_wait(ivar, element, seen, cmp, wanted, call_site, recorded):
    """Record a wait for element ``element`` of ``ivar``, last ``seen``, to compare as ``cmp`` with ``wanted``.

    It does nothing while another work-item's wait is recorded. ``call_site`` has the words of the program's call or is
    None; ``recorded`` is the previous result. Return whether this work-item has the record.
    """
    unsigned = int(not ivar.dtype.signed)

    def record_if_free(ivar, element, seen, cmp, wanted, call_site, recorded):
        return may_record_wait(recorded) and record_wait(
            VARIABLE, -1, types.int64(element), types.int64(seen), types.int64(cmp), types.int64(wanted), unsigned,
            words_of(call_site),
        )  # fmt: skip

    return record_if_free


@compiled
def record_set_wait(size, call_site, recorded):
    """Record a wait for any of ``size`` variables; other arguments and result as for `record_variable_wait`."""
    return may_record_wait(recorded) and record_wait(NONE_OF, -1, 0, types.int64(size), 0, 0, 0, words_of(call_site))


@compiled
def record_lock_wait(holder, index, call_site, recorded):
    """Record a wait for lock ``index``, held by PE ``holder`` (-1: none); the rest as for `record_variable_wait`."""
    return may_record_wait(recorded) and record_wait(LOCK, holder, types.int64(index), 0, 0, 0, 0, words_of(call_site))


@compiled
def record_member_wait(pe, number, place, call_site, recorded):
    """Record a wait for PE ``pe`` to write ``number`` at heap offset ``place``; rest as for `record_variable_wait`."""
    return may_record_wait(recorded) and record_wait(MEMBER, pe, 0, place, 0, number, 0, words_of(call_site))


@device_function
def record_begun_call(call_site):
    """Store the call site of the collective call that this PE's kernels begin, unless it is None."""
    if type_checks.absent(call_site):
        return lambda: None
    return lambda call_site: store_begun_call(call_site)


@compiled
def record_proxy_wait(served, ticket, recorded):
    """Record a wait for the proxy, after ``served`` requests, for ``ticket``; return as `record_variable_wait`."""
    return may_record_wait(recorded) and record_wait(PROXY, -1, 0, served, 0, ticket, 0, words_of(None))
