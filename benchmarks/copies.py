"""Copies by the host, from and into arrays of each kind, and on a queue; and puts between all pairs of PEs."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.worlds import Ishmem, Mpi

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


def active(direction: str) -> tuple[int, ...] | None:
    """Return the active PEs for a direction; None for all."""
    return (0,) if direction == "one" else None


def at_target(w: Any, dest: Any, size: int, who: tuple[int, ...] | None) -> Any:
    """Return the check of a put: ``dest`` contains the left neighbour's values if that one is active, else zeros."""
    wanted = values(size, w.left) if w.received(who) else np.zeros_like(values(size, 0))
    return lambda done: w.expect(dest, wanted)


def at_origin(w: Any, dest: Any, size: int, who: tuple[int, ...] | None) -> Any:
    """Return the check of a get: ``dest`` has the right neighbour's values if this PE is one of ``who``, else zeros."""
    wanted = values(size, w.right) if w.sent(who) else np.zeros_like(values(size, 0))
    return lambda done: w.expect(dest, wanted)


def nothing(*_arguments: Any) -> None:
    """Do nothing; called to measure the cost of a Python call."""


def own_array(w: Ishmem, argument: str, contents: np.ndarray[Any, Any]) -> Any:
    """Return an array with these contents, of a kind in `ARGUMENTS`."""
    if argument == "numpy":
        return contents
    if argument == "dpctl":
        from ishmem.environment.arrays import tensor

        return tensor.asarray(contents)
    if argument == "dpnp":
        import dpnp

        return dpnp.asarray(contents)
    array = w.blank(contents.nbytes)
    array[...] = contents
    return array


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


def _repeated(call: str, times: int, end: str) -> str:
    return f"for _ in range({times}): {call}\n{end}"


def _register(copy: Copy) -> None:
    put, several = copy.puts, copy.times > 1
    axes = {"argument": ARGUMENTS} if copy.kinds else {"direction": DIRECTIONS}

    @case(copy.case, "host", size=copy.sizes, limit=CALLS if several else MEMCPY, **axes)
    def body(w: Ishmem, size: int, direction: str = "one", argument: str = "symmetric") -> Plan:
        who, contents = active(direction), values(size, w.pe)
        far = w.blank(size) if put else w.filled(size)
        own = own_array(w, argument, contents if put else np.zeros_like(contents))
        names: dict[str, Any] = {"ishmem": ishmem, "far": far, "own": own, "n": size // 8, "pe": w.right}
        names.update(signal=ishmem.zeros(1, dtype="uint64"), nothing=nothing)
        names.update(here=own_view(w, own, argument), there=w.host_view(far, w.right))
        check = at_target(w, far, size, who) if put else at_origin(w, own, size, who)
        statement, limit = copy.call, "there[:] = here" if put else "here[:] = there"
        if several:
            statement = _repeated(copy.call, copy.times, "ishmem.quiet()")
            limit = _repeated("nothing(far, own, pe)", copy.times, "")
        return Plan(statement, names, check, size, copy.times, active=who, limit=limit, limit_copies=not several)

    if copy.mpi:

        @body.peer("mpi4py")
        def _(w: Mpi, size: int, direction: str = "one", argument: str = "") -> Plan:
            who, contents = active(direction), values(size, w.pe)
            window, far = w.window(size, None if put else contents)
            own = contents if put else np.zeros_like(contents)
            check = at_target(w, far, size, who) if put else at_origin(w, own, size, who)
            statement = _repeated(copy.mpi, copy.times, "window.Flush(pe)")
            names = {"window": window, "own": own, "pe": w.right}
            return Plan(
                statement if several else f"{copy.mpi}; window.Flush(pe)", names, check, size, copy.times, active=who
            )


def _register_strided(op: str, put: bool) -> Any:
    """Register the copy of every 4th element to every 4th element; return the case."""

    @case(op, "host", size=(8, 512, 4096, 65536, 1 << 20), limit="the same assignment between numpy arrays")
    def body(w: Ishmem, size: int) -> Plan:
        n = elements(size)
        source, dest = w.filled(STRIDE * size), w.blank(STRIDE * size)
        names = {"ishmem": ishmem, "dest": dest, "source": source, "n": n, "pe": w.right}
        from_pe, to_pe = (w.pe, w.right) if put else (w.right, w.pe)
        views = (w.host_view(source, from_pe), w.host_view(dest, to_pe))
        names["here"], names["there"] = (np.frombuffer(view, "i8")[::STRIDE] for view in views)
        statement, check = f"ishmem.{op}(dest, source, {STRIDE}, {STRIDE}, n, pe)", in_steps(w, dest, size, put)
        return Plan(statement, names, check, size, active=(0,), limit="there[:] = here")

    return body


def elements(size: int) -> int:
    """Return the number of elements of 8 bytes in a size; raise `Skip` if it is not a multiple of 8."""
    if size % 8:
        raise Skip("the size must be a multiple of the 8-byte elements")
    return size // 8


def in_steps(w: Any, dest: Any, size: int, put: bool) -> Any:
    """Return the check of a copy of every 4th element, ``size`` bytes, by PE 0: a put if ``put``, else a get."""
    wanted = np.zeros(STRIDE * size // 8, "i8")
    if w.received((0,)) if put else w.sent((0,)):
        wanted[::STRIDE] = values(STRIDE * size, w.left if put else w.right)[::STRIDE]
    return lambda done: w.expect(dest, wanted)


@_register_strided("iput", True).peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    n, (window, dest) = elements(size), w.window(STRIDE * size)
    kind = w.MPI.INT64_T.Create_vector(n, 1, STRIDE).Commit()
    names = {"window": window, "origin": [values(STRIDE * size, w.pe), 1, kind], "target": [0, 1, kind], "pe": w.right}
    statement = "window.Put(origin, pe, target); window.Flush(pe)"
    return Plan(statement, names, in_steps(w, dest, size, True), size, active=(0,))


_register_strided("iget", False)
for _copy in COPIES:
    _register(_copy)


def _every_pe(n_pes: int) -> tuple[int, ...]:
    return tuple(range(n_pes))


@case("pairs", "host", size=(8, 1 << 20), pes=(4,), limit=MEMCPY, origin=_every_pe, target=_every_pe)
def pairs(w: Ishmem, size: int, origin: int, target: int) -> Plan:
    """Return the plan of a put from PE ``origin`` to PE ``target``: the data of the heat map."""
    source, dest = w.filled(size), w.blank(size)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": target}
    names.update(here=w.host_view(source, w.pe), there=w.host_view(dest, target))
    wanted = values(size, origin) if w.pe == target else np.zeros_like(values(size, 0))
    check = lambda done: w.expect(dest, wanted)  # noqa: E731
    return Plan("ishmem.put(dest, source, pe)", names, check, size, active=(origin,), limit="there[:] = here")


def _register_on_queue(op: str, sizes: bool | tuple[int, ...], times: int = 1, **axes: Any) -> None:
    put = op != "get"

    @case(op, "queue", size=sizes, limit="queue.memcpy between the same buffers", **axes)
    def body(w: Ishmem, size: int, direction: str = "one") -> Plan:
        source, dest, who = w.filled(size), w.blank(size), active(direction)
        names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right, "n": size, "queue": dest.sycl_queue}
        names["here"] = source.get_array().usm_data if put else w.usm_at(source, w.right)
        names["there"] = w.usm_at(dest, w.right) if put else dest.get_array().usm_data
        check = at_target(w, dest, size, who) if put else at_origin(w, dest, size, who)
        call = f"ishmem.{op}_on_queue(dest, source, pe, queue)"
        statement, limit = f"{call}.wait()", "queue.memcpy(there, here, n)"
        if times > 1:
            statement = _repeated(call, times, "ishmem.quiet_on_queue(queue).wait()")
            limit = _repeated("queue.memcpy_async(there, here, n)", times, "queue.wait()")
        return Plan(statement, names, check, size, times, active=who, limit=limit)


_register_on_queue("put", True, direction=DIRECTIONS)
_register_on_queue("get", True, direction=("one",))
_register_on_queue("put_nbi", (8, 65536), WINDOW_ON_QUEUE)
