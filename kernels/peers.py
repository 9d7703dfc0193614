"""The address of a peer's heap: the peer's index on this node, and the distance to its heap.

In a job on one node the indices are the PE numbers. In a job on several nodes the PEs of a node usually have
consecutive numbers, so two constants tell whether a PE is among them, without a load. Where the launcher has given a
node other numbers, a table with a byte per PE has the indices of the rest.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from . import spec_constants
from .intrinsics import GLOBAL, I8, I64, compiled, device_intrinsic
from .options import SPANS


def _unchanging(builder: Any, address: Any, kind: Any) -> Any:
    """Emit a load that the compiler may hoist out of loops: these tables do not change while kernels run."""
    loaded = builder.load(builder.inttoptr(address, kind.as_pointer(GLOBAL)))
    loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
    return loaded


def _place(builder: Any, pe: Any) -> Any:
    """Emit the index of a PE on this node, or -1 for a PE of another node."""
    if not SPANS:
        return pe
    guess = builder.sub(pe, spec_constants.emit(builder, "first_near"))
    consecutive = builder.icmp_unsigned("<", guess, spec_constants.emit(builder, "run"))
    before = builder.block
    with builder.if_then(builder.not_(consecutive)):
        byte = _unchanging(builder, builder.add(spec_constants.emit(builder, "places"), pe), I8)
        found, looked_up = builder.sub(builder.zext(byte, I64), I64(1)), builder.block
    place = builder.phi(I64)
    place.add_incoming(guess, before)
    place.add_incoming(found, looked_up)
    return place


def _distance(builder: Any, place: Any) -> Any:
    """Emit one load from the table at a constant address, the start of the heap (``ishmem.common.layout``)."""
    entry = builder.add(spec_constants.emit(builder, "heap"), builder.shl(place, I64(3)))
    return _unchanging(builder, entry, I64)


def _route(builder: Any, place: Any) -> Any:
    return _unchanging(builder, builder.add(spec_constants.emit(builder, "routes"), builder.shl(place, I64(3))), I64)


def _of_number(emit: Any) -> Any:
    """Make the intrinsic that applies ``emit`` to an integer."""

    def typing(_context: Any, number: Any) -> Any:
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            return emit(builder, context.cast(builder, arguments[0], signature.args[0], types.int64))

        return types.int64(number), code

    return device_intrinsic(typing)


place_of = _of_number(_place)
"""Return the place of a PE on this node, counted from 0, or -1 for a PE of another node."""

distance_at = _of_number(_distance)
"""Return the distance in bytes from this PE's heap to that of the PE at a place of this node."""

route_at = _of_number(_route)
"""Return the `ishmem.runtime.routes.Route` to the PE at a place of this node."""

peer_delta = _of_number(lambda builder, pe: _distance(builder, _place(builder, pe)))
"""Return the distance in bytes from this PE's heap to that of a reachable peer (``kernels.proxy``)."""


@compiled
def is_distance(delta):
    """Return True: heaps begin at pages, so no distance is odd.

    The compiler does not know that, and loads a distance where this is called, out of a program's loop. Without, it
    loads each distance in the branch of a check that uses it, where it stays.
    """
    return delta & 1 == 0
