"""Synchronisation by the host: flag and signal ping-pong, barriers, fence and quiet."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import ishmem
from ishmem.benchmarks.cases import Check, Plan, Skip, case, values
from ishmem.benchmarks.worlds import FIRST, PEERS, Ishmem, Mpi, World

TRIP = "a flag ping-pong between two cores in compiled code, one way"
PLAYERS = (0, 1)


def other_player(w: World) -> int:
    """Return the number of the other PE of the ping-pong, on other PEs their own; raise `Skip` with one PE."""
    if w.n_pes < 2:
        raise Skip("needs 2 PEs")
    return 1 - w.pe if w.pe in PLAYERS else w.pe


def plan_of_game(w: World, send: str, wait: str, check: Check | None, size: int = 8, **names: Any) -> Plan:
    """Return the plan of two PEs that send and wait in turn; the time is that of one direction."""
    statement = f"i += 1; {send}; {wait}" if w.pe == 0 else f"i += 1; {wait}; {send}"
    names["pe"] = other_player(w)
    return Plan(statement, w.names() | names, check, size, 2, active=PLAYERS, setup="i = done")


def with_trip(w: Ishmem, plan: Plan, statement: str = "trip(own, theirs, done, count, first)") -> Plan:
    """Return a plan whose limit is a ping-pong of the hosts of two PEs."""
    spare = ishmem.zeros(1, dtype="int64")
    pes = w.pe, other_player(w)
    own, theirs = (np.frombuffer(w.host_view(spare, pe), "int64").ctypes.data for pe in pes)
    plan.names.update(trip=flag_trip(), own=own, theirs=theirs, first=int(w.pe == 0))
    plan.limit, plan.limit_counted, plan.limit_copies = statement, True, False
    return plan


def played(w: World, flag: Any) -> Check:
    """Return the check that the flag of each player counts the operations."""
    return lambda done: w.expect(flag, np.array([done if w.pe in PLAYERS else 0]))


@case("ping_pong", "host", limit=TRIP, peers=PEERS)
def ping_pong(w: Ishmem | Mpi) -> Plan:
    """Return the plan of p and wait_until in turn, or of Send and Recv.

    MPI has no wait for a change of a window's memory.
    """
    flag = w.blank(8)
    send = w.either("ishmem.p(flag, i, pe)", "comm.Send(flag, pe)")
    wait = w.either("ishmem.wait_until(flag, ishmem.CMP_EQ, i)", "comm.Recv(flag, pe)")
    if isinstance(w, Mpi):
        return plan_of_game(w, send, wait, None, flag=flag)
    return with_trip(w, plan_of_game(w, send, wait, played(w, flag), flag=flag))


@case("signal_ping_pong", "host", size=(8, 4096, 65536), limit=TRIP)
def signal_ping_pong(w: Ishmem, size: int) -> Plan:
    """Return the plan of put_signal and signal_wait_until in turn."""
    source, dest, signal = w.filled(size), w.blank(size), ishmem.zeros(1, dtype="uint64")
    send = "ishmem.put_signal(dest, source, signal, i, ishmem.SIGNAL_SET, pe)"
    wait = "ishmem.signal_wait_until(signal, ishmem.CMP_EQ, i)"
    arrived, counted = _arrived(w, dest, size), played(w, signal)
    check = lambda done: (arrived(done), counted(done))  # noqa: E731
    return with_trip(w, plan_of_game(w, send, wait, check, size, dest=dest, source=source, signal=signal))


@signal_ping_pong.peer("mpi4py")
def _(w: Mpi, size: int) -> Plan:
    """Return the plan of Send and Recv."""
    source, dest = w.filled(size), w.blank(size)
    send, wait = "comm.Send(source, pe)", "comm.Recv(dest, pe)"
    return plan_of_game(w, send, wait, _arrived(w, dest, size), size, source=source, dest=dest)


def _arrived(w: World, dest: Any, size: int) -> Check:
    wanted = values(size, other_player(w)) * (w.pe in PLAYERS)
    return lambda done: w.expect(dest, wanted)


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


@case("barrier_all", "host", pes=(2, 4), peers=PEERS)
def barrier_all(w: Ishmem | Mpi) -> Plan:
    return Plan(w.either("ishmem.barrier_all()", "comm.Barrier()"), w.names())


def _register(op: str) -> None:
    @case(op, "host", limit="an empty Python call", peers=PEERS)
    def body(w: Ishmem | Mpi) -> Plan:
        w.far(8, filled=False)
        statement, limit = w.either(f"ishmem.{op}()", "window.Flush_all()"), w.either("nothing()", "")
        return Plan(statement, w.names(), active=FIRST, limit=limit)


for _op in ("fence", "quiet"):
    _register(_op)
