"""Copies by the host: put, get, their nonblocking and strided forms, and the matrix of all pairs of PEs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.worlds import Ishmem, Mpi, Shmem

DIRECTIONS = ("one", "both")
"""Which PEs are active: PE 0 alone, or all at the same time."""
MEMCPY = "memcpy between the same buffers, as memoryviews"
WINDOW = 64


def active(direction: str) -> tuple[int, ...] | None:
    """Return the PEs that are active in a direction."""
    return (0,) if direction == "one" else None


def at_target(w: Any, dest: Any, size: int, who: tuple[int, ...] | None) -> Any:
    """Return the check of a put: ``dest`` holds the left neighbour's values if that one is active."""
    wanted = values(size, w.left) if w.received(who) else np.zeros_like(values(size, 0))
    return lambda done: w.expect(dest, wanted)


def at_origin(w: Any, dest: Any, size: int, who: tuple[int, ...] | None) -> Any:
    """Return the check of a get: ``dest`` holds the right neighbour's values on active PEs."""
    wanted = values(size, w.right) if w.sent(who) else np.zeros_like(values(size, 0))
    return lambda done: w.expect(dest, wanted)


@case("put", "host", size=True, limit=MEMCPY, direction=DIRECTIONS)
def put(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right}
    names.update(here=w.host_view(source, w.pe), there=w.host_view(dest, w.right))
    check = at_target(w, dest, size, who)
    return Plan("ishmem.put(dest, source, pe)", names, check, size, active=who, limit="there[:] = here")


@put.peer("mpi4py")
def _(w: Mpi, size: int, direction: str) -> Plan:
    (window, dest), who = w.window(size), active(direction)
    names = {"window": window, "source": values(size, w.pe), "pe": w.right}
    check = at_target(w, dest, size, who)
    return Plan("window.Put(source, pe); window.Flush(pe)", names, check, size, active=who)


@put.peer("shmem4py")
def _(w: Shmem, size: int, direction: str) -> Plan:
    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"shmem": w.shmem, "dest": dest, "source": source, "pe": w.right}
    check = at_target(w, dest, size, who)
    return Plan("shmem.put(dest, source, pe); shmem.quiet()", names, check, size, active=who)


@case("get", "host", size=True, limit=MEMCPY, direction=DIRECTIONS)
def get(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right}
    names.update(here=w.host_view(dest, w.pe), there=w.host_view(source, w.right))
    check = at_origin(w, dest, size, who)
    return Plan("ishmem.get(dest, source, pe)", names, check, size, active=who, limit="here[:] = there")


@get.peer("mpi4py")
def _(w: Mpi, size: int, direction: str) -> Plan:
    window, _memory = w.window(size, values(size, w.pe))
    dest, who = np.zeros_like(values(size, 0)), active(direction)
    names = {"window": window, "dest": dest, "pe": w.right}
    check = at_origin(w, dest, size, who)
    return Plan("window.Get(dest, pe); window.Flush(pe)", names, check, size, active=who)


@get.peer("shmem4py")
def _(w: Shmem, size: int, direction: str) -> Plan:
    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"shmem": w.shmem, "dest": dest, "source": source, "pe": w.right}
    check = at_origin(w, dest, size, who)
    return Plan("shmem.get(dest, source, pe)", names, check, size, active=who)


NBI = f"for _ in range({WINDOW}): ishmem.%s(dest, source, pe)\nishmem.quiet()"


@case("put_nbi", "host", size=(8, 512, 4096, 65536), limit="an empty Python call for each", direction=DIRECTIONS)
def put_nbi(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right, "nothing": nothing}
    check = at_target(w, dest, size, who)
    limit = f"for _ in range({WINDOW}): nothing(dest, source, pe)" if size <= 512 else None
    return Plan(NBI % "put_nbi", names, check, size, WINDOW, active=who, limit=limit, limit_copies=False)


@put_nbi.peer("mpi4py")
def _(w: Mpi, size: int, direction: str) -> Plan:
    (window, dest), who = w.window(size), active(direction)
    names = {"window": window, "source": values(size, w.pe), "pe": w.right}
    statement = f"for _ in range({WINDOW}): window.Put(source, pe)\nwindow.Flush(pe)"
    return Plan(statement, names, at_target(w, dest, size, who), size, WINDOW, active=who)


@put_nbi.peer("shmem4py")
def _(w: Shmem, size: int, direction: str) -> Plan:
    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"shmem": w.shmem, "dest": dest, "source": source, "pe": w.right}
    statement = f"for _ in range({WINDOW}): shmem.put_nbi(dest, source, pe)\nshmem.quiet()"
    return Plan(statement, names, at_target(w, dest, size, who), size, WINDOW, active=who)


@case("get_nbi", "host", size=(8, 512, 4096, 65536), direction=DIRECTIONS)
def get_nbi(w: Ishmem, size: int, direction: str) -> Plan:
    import ishmem

    source, dest, who = w.filled(size), w.blank(size), active(direction)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": w.right}
    return Plan(NBI % "get_nbi", names, at_origin(w, dest, size, who), size, WINDOW, active=who)


@get_nbi.peer("mpi4py")
def _(w: Mpi, size: int, direction: str) -> Plan:
    window, _memory = w.window(size, values(size, w.pe))
    dest, who = np.zeros_like(values(size, 0)), active(direction)
    names = {"window": window, "dest": dest, "pe": w.right}
    statement = f"for _ in range({WINDOW}): window.Get(dest, pe)\nwindow.Flush(pe)"
    return Plan(statement, names, at_origin(w, dest, size, who), size, WINDOW, active=who)


def nothing(*_arguments: Any) -> None:
    """Do nothing: measures the cost of a Python call."""


STRIDE = 4


def _columns(size: int) -> int:
    if size % 8:
        raise Skip("the size must be a multiple of the 8-byte elements")
    return size // 8


@case("iput", "host", size=(8, 512, 4096, 65536, 1 << 20), limit="the same assignment between numpy arrays")
def iput(w: Ishmem, size: int) -> Plan:
    """Every 4th element, on both sides."""
    import ishmem

    n = _columns(size)
    source, dest = w.filled(STRIDE * size), w.blank(STRIDE * size)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "n": n, "pe": w.right}
    here, there = w.host_view(source, w.pe), w.host_view(dest, w.right)
    names.update(here=np.frombuffer(here, "i8")[::STRIDE], there=np.frombuffer(there, "i8")[::STRIDE])
    wanted = np.zeros(STRIDE * n, "i8")
    if w.received((0,)):
        wanted[::STRIDE] = values(STRIDE * size, w.left)[::STRIDE]
    statement = f"ishmem.iput(dest, source, {STRIDE}, {STRIDE}, n, pe)"
    return Plan(statement, names, lambda done: w.expect(dest, wanted), size, active=(0,), limit="there[:] = here")


@iput.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    n, (window, dest) = _columns(size), w.window(STRIDE * size)
    kind = w.MPI.INT64_T.Create_vector(n, 1, STRIDE).Commit()
    names = {"window": window, "origin": [values(STRIDE * size, w.pe), 1, kind], "target": [0, 1, kind], "pe": w.right}
    wanted = np.zeros(STRIDE * n, "i8")
    if w.received((0,)):
        wanted[::STRIDE] = values(STRIDE * size, w.left)[::STRIDE]
    statement = "window.Put(origin, pe, target); window.Flush(pe)"
    return Plan(statement, names, lambda done: w.expect(dest, wanted), size, active=(0,))


@case("iget", "host", size=(8, 512, 4096, 65536, 1 << 20), limit="the same assignment between numpy arrays")
def iget(w: Ishmem, size: int) -> Plan:
    """Every 4th element, on both sides."""
    import ishmem

    n = _columns(size)
    source, dest = w.filled(STRIDE * size), w.blank(STRIDE * size)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "n": n, "pe": w.right}
    here, there = w.host_view(dest, w.pe), w.host_view(source, w.right)
    names.update(here=np.frombuffer(here, "i8")[::STRIDE], there=np.frombuffer(there, "i8")[::STRIDE])
    wanted = np.zeros(STRIDE * n, "i8")
    if w.sent((0,)):
        wanted[::STRIDE] = values(STRIDE * size, w.right)[::STRIDE]
    statement = f"ishmem.iget(dest, source, {STRIDE}, {STRIDE}, n, pe)"
    return Plan(statement, names, lambda done: w.expect(dest, wanted), size, active=(0,), limit="here[:] = there")


def _every_pe(n_pes: int) -> tuple[int, ...]:
    return tuple(range(n_pes))


@case("pairs", "host", size=(8, 1 << 20), pes=(4,), limit=MEMCPY, origin=_every_pe, target=_every_pe)
def pairs(w: Ishmem, size: int, origin: int, target: int) -> Plan:
    """A put from each PE to each: the data of the heat map."""
    import ishmem

    source, dest = w.filled(size), w.blank(size)
    names = {"ishmem": ishmem, "dest": dest, "source": source, "pe": target}
    names.update(here=w.host_view(source, w.pe), there=w.host_view(dest, target))
    wanted = values(size, origin) if w.pe == target else np.zeros_like(values(size, 0))
    check = lambda done: w.expect(dest, wanted)  # noqa: E731
    return Plan("ishmem.put(dest, source, pe)", names, check, size, active=(origin,), limit="there[:] = here")
