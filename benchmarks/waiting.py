"""Synchronisation by the host: flag and signal ping-pong, barriers, fence and quiet."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Plan, Skip, case, values
from ishmem.benchmarks.copies import nothing
from ishmem.benchmarks.worlds import Ishmem, Mpi, World

TRIP = "a flag ping-pong between two cores in compiled code, one way"
PLAYERS = (0, 1)
_SERVE = "i += 1; {send}; {wait}"
_RETURN = "i += 1; {wait}; {send}"


def _two(w: World) -> int:
    """Return the number of the other PE of the ping-pong, on other PEs their own; raise `Skip` with one PE."""
    if w.n_pes < 2:
        raise Skip("needs 2 PEs")
    return 1 - w.pe if w.pe in PLAYERS else w.pe


def _game(w: World, send: str, wait: str) -> str:
    return (_SERVE if w.pe == 0 else _RETURN).format(send=send, wait=wait)


@case("ping_pong", "host", limit=TRIP)
def ping_pong(w: Ishmem) -> Plan:
    """Return the plan of p and wait_until in turn by PEs 0 and 1; the time is that of one direction."""
    other = _two(w)
    flag, spare = ishmem.zeros(1, dtype="int64"), ishmem.zeros(1, dtype="int64")
    names = {"ishmem": ishmem, "flag": flag, "pe": other, **_trip_names(w, spare, other)}
    statement = _game(w, "ishmem.p(flag, i, pe)", "ishmem.wait_until(flag, ishmem.CMP_EQ, i)")
    return _players_plan(w, statement, names, flag)


def _players_plan(w: Ishmem, statement: str, names: dict[str, Any], flag: Any) -> Plan:
    return Plan(
        statement, names, _flag_check(w, flag), 8, operations=2, active=PLAYERS, setup="i = done",
        limit="trip(own, theirs, done, count, first)", limit_counted=True, limit_copies=False,
    )  # fmt: skip


def _flag_check(w: World, flag: Any) -> Any:
    return lambda done: w.expect(flag, np.array([done if w.pe in PLAYERS else 0], "int64"))


def _trip_names(w: Ishmem, flag: Any, other: int) -> dict[str, Any]:
    own, theirs = (np.frombuffer(w.host_view(flag, pe), "int64").ctypes.data for pe in (w.pe, other))
    return {"trip": flag_trip(), "own": own, "theirs": theirs, "first": w.pe == 0}


@ping_pong.peer("mpi4py")
def _(w: Mpi) -> Plan:
    """Return the plan of Send and Recv: MPI has no wait for a change of a window's memory."""
    names = {"comm": w.comm, "word": np.zeros(1, "int64"), "pe": _two(w)}
    return Plan(_game(w, "comm.Send(word, pe)", "comm.Recv(word, pe)"), names, None, 8, 2, False, PLAYERS, "i = done")


@case("signal_ping_pong", "host", size=(8, 4096, 65536), limit=TRIP)
def signal_ping_pong(w: Ishmem, size: int) -> Plan:
    """Return the plan of put_signal and signal_wait_until in turn; the time is that of one direction."""
    other = _two(w)
    source, dest = w.filled(size), w.blank(size)
    signal, spare = ishmem.zeros(1, dtype="uint64"), ishmem.zeros(1, dtype="int64")
    names = {"ishmem": ishmem, "dest": dest, "source": source, "signal": signal, "pe": other}
    names.update(_trip_names(w, spare, other))
    send = "ishmem.put_signal(dest, source, signal, i, ishmem.SIGNAL_SET, pe)"
    plan = _players_plan(w, _game(w, send, "ishmem.signal_wait_until(signal, ishmem.CMP_EQ, i)"), names, signal)
    plan.nbytes = size

    def check(done: int) -> None:
        w.expect(dest, values(size, other) * (1 if w.pe in PLAYERS else 0))
        w.expect(signal, np.array([done if w.pe in PLAYERS else 0], "uint64"))

    plan.check = check
    return plan


@signal_ping_pong.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    """Return the plan of Send and Recv."""
    other = _two(w)
    source, dest = values(size, w.pe), np.zeros_like(values(size, 0))
    names = {"comm": w.comm, "source": source, "dest": dest, "pe": other}
    statement = _game(w, "comm.Send(source, pe)", "comm.Recv(dest, pe)")
    wanted = values(size, other) * (1 if w.pe in PLAYERS else 0)
    return Plan(statement, names, lambda done: w.expect(dest, wanted), size, 2, False, PLAYERS, "i = done")


@functools.cache
def flag_trip() -> Any:
    """Return a compiled ``trip(own, theirs, start, count, first)``: ``count`` round trips of flags at two addresses."""
    from llvmlite import ir
    from numba import njit, types
    from numba.extending import intrinsic

    def pointer(builder: Any, address: Any) -> Any:
        return builder.inttoptr(address, ir.IntType(64).as_pointer())

    @intrinsic
    def load(typing: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load_atomic(pointer(builder, arguments[0]), "acquire", 8)

        return types.int64(types.int64), generate

    @intrinsic
    def store(typing: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store_atomic(arguments[1], pointer(builder, arguments[0]), "release", 8)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    @njit("void(int64, int64, int64, int64, boolean)")
    def trip(own: int, theirs: int, start: int, count: int, first: bool) -> None:
        for i in range(start + 1, start + count + 1):
            if first:
                store(theirs, i)
            while load(own) != i:
                pass
            if not first:
                store(theirs, i)

    return trip


@case("barrier_all", "host", pes=(2, 4))
def barrier_all(w: Ishmem) -> Plan:
    return Plan("ishmem.barrier_all()", {"ishmem": ishmem})


@barrier_all.peer("mpi4py")
def _(w: Mpi) -> Plan:
    return Plan("comm.Barrier()", {"comm": w.comm})


def _register(op: str) -> None:
    @case(op, "host", limit="an empty Python call")
    def body(w: Ishmem) -> Plan:
        return Plan(f"ishmem.{op}()", {"ishmem": ishmem, "nothing": nothing}, active=(0,), limit="nothing()")

    @body.peer("mpi4py")
    def _(w: Mpi) -> Plan:
        return Plan("window.Flush_all()", {"window": w.window(8)[0]}, active=(0,))


for _op in ("fence", "quiet"):
    _register(_op)
