"""Long waits in kernels: a work-item that waits long describes its wait in a `KernelWait` in its PE's heap."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from ishmem.common.kernel_wait import CALL, GROUP_CALL, LOCK, MEMBER, NONE_OF, PROXY, SITE, VARIABLE, WORDS, KernelWait

from . import spec_constants, type_checks
from .intrinsics import (
    GLOBAL,
    I64,
    compiled,
    device_function,
    device_intrinsic,
    load_volatile,
    store_tuple_volatile,
    store_volatile,
    work_item,
)
from .spec_constants import wait_record

SPINS = (1 << 20) - 1
"""A wait tells of itself when the number of its failed polls has no bit of this mask: first after a million."""

_KIND, _SEEN, _WANTED, _CMP, _ELEMENT, _PE, _UNSIGNED = map(KernelWait.at, KernelWait._fields[1:])


@device_intrinsic
def site_of(_context, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9):
    """Return the words of the text of a call site as a tuple."""
    result, kinds = types.UniTuple(types.int64, WORDS), (w0, w1, w2, w3, w4, w5, w6, w7, w8, w9)

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words = [context.cast(builder, word, kind, types.int64) for word, kind in zip(arguments, signature.args)]
        return context.make_tuple(builder, result, words)

    return result(*kinds), code


@device_intrinsic
def words_of(_context, site):
    """Return the words of a call site; zeros if it is unknown."""
    result = types.UniTuple(types.int64, WORDS)
    if type_checks.absent(site):
        return result(site), lambda context, builder, _signature, _arguments: context.make_tuple(
            builder, result, [I64(0)] * WORDS
        )
    return result(site), lambda _context, _builder, _signature, arguments: arguments[0]


def _noting(offset: int) -> Any:
    """Make an intrinsic that stores the words of a call site at an offset in the record."""

    def note(_context, w0, w1, w2, w3, w4, w5, w6, w7, w8, w9):
        kinds = (w0, w1, w2, w3, w4, w5, w6, w7, w8, w9)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            record = builder.inttoptr(spec_constants.emit(builder, "wait"), I64.as_pointer(GLOBAL))
            for number, (word, kind) in enumerate(zip(arguments, signature.args)):
                place = builder.gep(record, [ir.Constant(I64, offset // 8 + number)])
                builder.store(context.cast(builder, word, kind, types.int64), place)
            return context.get_dummy_value()

        return types.void(*kinds), code

    return device_intrinsic(note)


note_call_begun, note_group_call = _noting(CALL), _noting(GROUP_CALL)
"""Store the words of the collective call, or of the call of a group, that this PE's kernels begin."""


@compiled
def tell(kind, pe, element, seen, cmp, wanted, unsigned, words):
    """Record the wait of this work-item, unless another one has recorded a wait that goes on."""
    record, me = wait_record(), work_item() + 1
    owner = load_volatile(record)
    if owner != 0 and owner != me:
        return
    store_volatile(record + _KIND, kind)
    store_volatile(record + _SEEN, seen)
    store_volatile(record + _WANTED, wanted)
    store_volatile(record + _CMP, cmp)
    store_volatile(record + _ELEMENT, element)
    store_volatile(record + _PE, pe)
    store_volatile(record + _UNSIGNED, unsigned)
    store_tuple_volatile(record + SITE, words)  # LLVM gives a loop over the words a switch on 63 bits
    store_volatile(record, me)


@compiled
def forget():
    """Clear the record of this work-item: its wait is over."""
    if load_volatile(wait_record()) == work_item() + 1:
        store_volatile(wait_record(), 0)


@device_function
def tell_variable(ivar, element, seen, cmp, wanted, site):
    """Record a wait for a variable."""
    unsigned = int(not ivar.dtype.signed)

    def impl(ivar, element, seen, cmp, wanted, site):
        tell(
            VARIABLE, -1, types.int64(element), types.int64(seen), types.int64(cmp), types.int64(wanted), unsigned,
            words_of(site),
        )  # fmt: skip

    return impl


@device_function
def tell_none_of(size, site):
    """Record a wait for any of ``size`` variables."""
    return lambda size, site: tell(NONE_OF, -1, 0, types.int64(size), 0, 0, 0, words_of(site))


@device_function
def tell_lock(holder, index, site):
    """Record a wait for a lock that PE ``holder`` holds; -1 if no PE holds it at the moment."""
    return lambda holder, index, site: tell(LOCK, holder, types.int64(index), 0, 0, 0, 0, words_of(site))


@device_function
def tell_member(pe, number, place):
    """Record a wait for a PE that has not written the number of a team's call to a place in this PE's heap."""
    return lambda pe, number, place: tell(MEMBER, pe, 0, place, 0, number, 0, words_of(None))


@device_function
def tell_proxy(served, ticket):
    """Record a wait for the proxy to serve the request with this ticket."""
    return lambda served, ticket: tell(PROXY, -1, 0, served, 0, ticket, 0, words_of(None))
