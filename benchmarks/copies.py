"""Copies by the host, from and into arrays of each kind, and on a queue; and puts between all pairs of PEs."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.worlds import FIRST, PEERS, Ishmem, Mpi

DIRECTIONS = ("one", "both")
"""The active PEs: PE 0 alone, or all at the same time."""
ARGUMENTS = ("symmetric", "dpnp", "dpctl", "numpy")
"""Kinds of the calling PE's array."""
MEMCPY = "memcpy between the same buffers, as memoryviews"
CALLS = "an empty Python call for each"
WINDOW, WINDOW_ON_QUEUE, STRIDE = 64, 16, 4
LARGE, SMALL, NBI = (8, 4 << 10, 16 << 10, 1 << 20, 16 << 20), (8, 4 << 10), (8, 512, 4096, 65536)


class Copy(NamedTuple):
    """A copy between ``own``, an array of the calling PE, and ``far``, a symmetric array on ``pe``.

    Attributes:
        case: The name of the benchmark case.
        puts: Whether ``own`` is the source.
        call: The call of ishmem.
        sizes: Message sizes in bytes; True: those of ``--size``.
        mpi: The equivalent call of mpi4py, on ``window``; empty if there is none.
        times: The number of calls in a timed statement, which ends when all are complete.
        kinds: Whether the kind of ``own`` is an axis; otherwise the direction is one.
    """

    case: str
    puts: bool
    call: str
    sizes: bool | tuple[int, ...]
    mpi: str = ""
    times: int = 1
    kinds: bool = True


_PUT, _GET = "window.Put(own, pe)", "window.Get(own, pe)"
COPIES = (
    Copy("put", True, "ishmem.put(far, own, pe)", True, _PUT, kinds=False),
    Copy("get", False, "ishmem.get(own, far, pe)", True, _GET, kinds=False),
    Copy("put_nbi", True, "ishmem.put_nbi(far, own, pe)", NBI, _PUT, WINDOW, kinds=False),
    Copy("get_nbi", False, "ishmem.get_nbi(own, far, pe)", NBI, _GET, WINDOW, kinds=False),
    Copy("put_from", True, "ishmem.put(far, own, pe)", LARGE, _PUT),
    Copy("get_into", False, "ishmem.get(own, far, pe)", LARGE, _GET),
    Copy("put_nbi_from", True, "ishmem.put_nbi(far, own, pe)", SMALL, _PUT, WINDOW),
    Copy("get_nbi_into", False, "ishmem.get_nbi(own, far, pe)", SMALL, _GET, WINDOW),
    Copy("iput_from", True, "ishmem.iput(far, own, 1, 1, n, pe)", SMALL, _PUT),
    Copy("iget_into", False, "ishmem.iget(own, far, 1, 1, n, pe)", SMALL, _GET),
    Copy("put_signal_from", True, "ishmem.put_signal(far, own, signal, 1, 1, pe)", SMALL),
)


def plan_of_copy(
    w: Ishmem | Mpi, statement: str, size: int, puts: bool, active: tuple[int, ...] | None = FIRST, own: Any = None,
    step: int = 1, **more: Any,
) -> Plan:  # fmt: skip
    """Return the plan of a copy of ``size`` bytes between ``own``, an array here, and ``far`` on the right neighbour.

    Every ``step``-th element is copied; ``more`` are attributes of the plan.
    """
    far = w.far(step * size, filled=not puts)
    if own is None:
        own = w.filled(step * size) if puts else w.blank(step * size)
    check = w.copied(far if puts else own, step * size, puts, active, step)
    return Plan(statement, w.names(own=own, far=far), check, size, active=active, **more)


def own_array(argument: str, contents: np.ndarray[Any, Any]) -> Any:
    """Return an array with these contents, of a kind in `ARGUMENTS`."""
    if argument == "numpy":
        return contents
    if argument == "symmetric":
        return ishmem.array(contents)
    import dpnp

    array = dpnp.asarray(contents)
    return array if argument == "dpnp" else array.get_array()


def own_view(w: Ishmem, own: Any, argument: str) -> Any:
    """Return a host view of an array's bytes; if only the copy engine accesses them, of a symmetric array instead."""
    from ishmem import _core

    if argument == "numpy":
        return memoryview(own).cast("B")
    if argument == "symmetric":
        return w.host_view(own, w.pe)
    scratch = w.blank(own.nbytes)
    for _ in range(2):  # a large allocation is mapped at its second use
        ishmem.put(scratch, own, w.pe)
    facts = _core.describe(own)
    address = _core.private_place(facts[0], own.nbytes) if facts else 0
    if not address:
        return w.host_view(scratch, w.pe)
    return memoryview((ctypes.c_char * own.nbytes).from_address(address)).cast("B")


def _active(direction: str) -> tuple[int, ...] | None:
    return FIRST if direction == "one" else None


def _repeated(call: str, times: int, end: str) -> str:
    return f"for _ in range({times}): {call}\n{end}" if times > 1 else call


def _register(copy: Copy) -> None:
    several = copy.times > 1
    axes = {"argument": ARGUMENTS} if copy.kinds else {"direction": DIRECTIONS}
    statement, by_mpi = (_repeated(call, copy.times, "") for call in (copy.call, copy.mpi))
    limit = "there[:] = here" if copy.puts else "here[:] = there"
    if several:
        statement, limit = f"{statement}ishmem.quiet()", _repeated("nothing(far, own, pe)", copy.times, "")

    @case(
        copy.case, "host", size=copy.sizes, limit=CALLS if several else MEMCPY, peers=PEERS if copy.mpi else (), **axes
    )
    def body(w: Ishmem | Mpi, size: int, direction: str = "one", argument: str = "symmetric") -> Plan:
        active = _active(direction)
        if isinstance(w, Mpi):
            flushed = f"{by_mpi}\nwindow.Flush(pe)"
            return plan_of_copy(w, flushed, size, copy.puts, active, operations=copy.times)
        own = own_array(argument, values(size, w.pe) * copy.puts)
        plan = plan_of_copy(w, statement, size, copy.puts, active, own, operations=copy.times, limit=limit)
        plan.limit_copies = not several
        views = {"here": own_view(w, own, argument), "there": w.host_view(plan.names["far"], w.right)}
        plan.names.update(views, n=size // 8, signal=ishmem.zeros(1, dtype="uint64"))
        return plan


def _register_strided(op: str, puts: bool) -> None:
    """Register the copy of every 4th element to every 4th element."""
    call = f"ishmem.{op}({'far, own' if puts else 'own, far'}, {STRIDE}, {STRIDE}, n, pe)"
    limit = "there[:] = here" if puts else "here[:] = there"
    sizes, peers = (8, 512, 4096, 65536, 1 << 20), PEERS if puts else ()

    @case(op, "host", size=sizes, limit="the same assignment between numpy arrays", peers=peers)
    def body(w: Ishmem | Mpi, size: int) -> Plan:
        statement = w.either(call, "window.Put(origin, pe, target); window.Flush(pe)")
        plan = plan_of_copy(w, statement, size, puts, step=STRIDE)
        own, far, n = plan.names["own"], plan.names["far"], elements(size)
        if isinstance(w, Mpi):
            kind = w.MPI.INT64_T.Create_vector(n, 1, STRIDE).Commit()
            plan.names.update(origin=[own, 1, kind], target=[0, 1, kind])
            return plan
        views = w.host_view(own, w.pe), w.host_view(far, w.right)
        here, there = (np.frombuffer(view, "i8")[::STRIDE] for view in views)
        plan.names.update(n=n, here=here, there=there)
        plan.limit = limit
        return plan


def elements(size: int) -> int:
    """Return the number of elements of 8 bytes in a size; raise `Skip` if it is not a multiple of 8."""
    if size % 8:
        raise Skip("the size must be a multiple of the 8-byte elements")
    return size // 8


_register_strided("iput", True)
_register_strided("iget", False)
for _copy in COPIES:
    _register(_copy)


def _every_pe(n_pes: int) -> tuple[int, ...]:
    return tuple(range(n_pes))


@case("pairs", "host", size=(8, 1 << 20), pes=(4,), limit=MEMCPY, origin=_every_pe, target=_every_pe)
def pairs(w: Ishmem, size: int, origin: int, target: int) -> Plan:
    """Return the plan of a put from PE ``origin`` to PE ``target``: the data of the heat map."""
    limit = "there[:] = here"
    plan = plan_of_copy(w, "ishmem.put(far, own, target)", size, True, (origin,), limit=limit)
    own, far = plan.names["own"], plan.names["far"]
    plan.names.update(target=target, here=w.host_view(own, w.pe), there=w.host_view(far, target))
    wanted = values(size, origin) * (w.pe == target)
    plan.check = lambda done: w.expect(far, wanted)
    return plan


def _register_on_queue(op: str, sizes: bool | tuple[int, ...], times: int = 1, **axes: Any) -> None:
    puts = op != "get"
    call = f"ishmem.{op}_on_queue({'far, own' if puts else 'own, far'}, pe, queue)"
    statement, limit = f"{call}.wait()", "queue.memcpy(to, origin, n)"
    if times > 1:
        statement = _repeated(call, times, "ishmem.quiet_on_queue(queue).wait()")
        limit = _repeated("queue.memcpy_async(to, origin, n)", times, "queue.wait()")

    @case(op, "queue", size=sizes, limit="queue.memcpy between the same buffers", **axes)
    def body(w: Ishmem, size: int, direction: str = "one") -> Plan:
        plan = plan_of_copy(w, statement, size, puts, _active(direction), operations=times, limit=limit)
        own, far = plan.names["own"], plan.names["far"]
        sides = [w.usm_at(far, w.right), own.get_array().usm_data]
        to, origin = sides if puts else sides[::-1]
        plan.names.update(n=size, queue=own.sycl_queue, to=to, origin=origin)
        return plan


_register_on_queue("put", True, direction=DIRECTIONS)
_register_on_queue("get", True, direction=("one",))
_register_on_queue("put_nbi", (8, 65536), WINDOW_ON_QUEUE)
