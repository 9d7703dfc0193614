"""Numbers that the compiled core shares with Python and kernels; the build writes them to C++, with other enumerations.

`LINE` and `MAX_TEAMS` are those of `ishmem.common.layout`, which explains them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

LINE = 64
MAX_TEAMS = 128
NO_RESULT = 0x80
"""Flag in the code of an atomic: the old value is not needed, so no PE waits for it between nodes."""

FROM_PROGRAM, NBI = 1 << 24, 1 << 25
"""Flags in the kind of a request: an operation of the program, which may arrive late, and a nonblocking one."""

MESSAGE_MAGIC = b"ISHM"
MESSAGE_HEADER = {
    "magic": "4s", "version": "H", "kind": "H", "pe": "I", "descriptors": "I", "sequence": "Q", "length": "I",
}  # fmt: skip
"""The header of a message of ``ipc/wire.py``: fields and their formats, of `struct`, without padding."""

REQUEST_WORDS = ("turn", "posted", "what", "pe", "offset", "operand", "other", "unused")
"""The words of a kernel's request to the proxy, int64 each; ``ishmem/core/proxy.cpp`` explains them."""

RING_HEADER = ("completed", "host_puts")
"""The words of the line before the requests, int64 each: how many are complete, in the order of their tickets; and
whether the host has put to another node since a `Request.QUIET` began."""


class Mode(IntEnum):
    """What a wait or test of a set looks for: all variables satisfy the comparison, any one does, or those that do."""

    ALL = 0
    ANY = 1
    SOME = 2


class SetCode(IntEnum):
    """Bits in the code of a routine on a set of variables, beside its `Mode`.

    `TEST`: the routine does not wait; `VECTOR`: each variable is compared with a value of its own.
    """

    TEST = 4
    VECTOR = 8


class Algorithm(IntEnum):
    """The algorithms of collectives: see `ishmem.common.algorithms`; `REFUSAL` is a call with wrong arguments."""

    IN_SLOT = 0
    MAPPED = 1
    TREE = 2
    BY_ENGINE = 3
    BY_KERNEL = 4
    LEVELS = 5
    ROUNDS = 6
    REFUSAL = 7


class Verdict(IntEnum):
    """The outcomes of a collective call of the host.

    `DECLINED`: before this PE has published anything; `DISSENT`: the arguments of the members differ; `TOO_SHORT`: a
    member's ``dest`` for a ``collect`` is; `PEER_GONE`: a PE is lost, or Python has an exception.
    """

    FINISHED = 0
    DECLINED = 1
    DISSENT = 2
    TOO_SHORT = 3
    PEER_GONE = 4


class Request(IntEnum):
    """The kinds of requests of kernels to the proxy; `SIGNAL` to `MARK_HELD` only where operations may arrive late."""

    PUT = 0
    GET = 1
    STORE = 2
    QUIET = 3
    UPDATE = 4
    SIGNAL = 5
    FENCE = 6
    COMPLETE = 7
    FLUSH = 8
    STORES_DIRECTLY = 9
    MARK_HELD = 10  # this and those below return a value
    LOAD = 11
    ATOMIC_RMW = 12


class Problem(IntEnum):
    """Errors of the proxy, besides the results of Level Zero, which are positive."""

    OUTSIDE = -1
    LOST_PE = -2


class Kind(IntEnum):
    """The kinds of messages; in all but HELLO, ``pe`` is the PE that the message is about."""

    HELLO = 1
    """The sender is this PE of this job (payload: token and number of PEs)."""
    WELCOME = 2
    """The receiver is admitted (payload: token of the hub)."""
    REFUSED = 3
    """The receiver is not admitted (payload: the reason)."""
    PART = 4
    """The part of this PE in the collective of this sequence number."""
    ABORT = 5
    """The collective of this sequence number ends with an error (payload: its text)."""
    LOST = 6
    """This PE is lost (sequence: the exit status of the job, in jobs over MPI; payload: how)."""
    LEFT = 7
    """This PE has left."""
    EXIT = 8
    """This PE ends the job (sequence: the exit status)."""
    SHRINK = 9
    """The PEs left of a team: a question, or the hub's reply (sequence: of the question; payload: a `Census`)."""
    FAILED = 10
    """The program of this PE has failed; threads may keep its process (sequence: the exit status; payload: how)."""
    WATCH = 11
    """From now on the end of this PE's process ends the job over MPI."""
    RAISED = 12
    """This PE has raised `PeerLost`, so it ends by itself."""
    DONE = 13
    """The end of this PE's process is no loss any more; among monitors, of the PEs of this node and those below."""
    ALIVE = 14
    """A sign of life of a node, among monitors."""


class CallFlag(IntEnum):
    """Bits of `TracedCall.flags`: has a value; raised; adds the value; ``nelems`` left out; the peer is the root."""

    HAS_VALUE = 1
    RAISED = 2
    ADDS = 4
    WHOLE = 8
    ROOTED = 16


class TracedCall(NamedTuple):
    """One call of a routine, as the core records it and a trace shows it.

    Attributes:
        begin, end: Nanoseconds of ``CLOCK_MONOTONIC``; ``end`` 0: the call has not returned.
        bytes: Size in bytes of the data that this PE passes; with `CallFlag.WHOLE` the caller has left out ``nelems``.
        offset: Offset in bytes in the heap of the flag, or else of the data; -1: none.
        value: The value to store, to add, or to wait for.
        pe: The peer, with `CallFlag.ROOTED` the root, by its number in the job; -1: none.
        start, stride, size: The team; ``size`` 0: none; ``stride`` 0: a team without stride, ``start`` is its handle.
        routine, label: The number of the routine, and that of the kernel's name, from 1; 0: no kernel.
        thread: The number of the thread, in the order of first calls.
        cmp, flags: The comparison of a wait, a `Cmp`; bits of `CallFlag`.
    """

    begin: int
    end: int
    bytes: int
    offset: int
    value: int
    pe: int
    start: int
    stride: int
    size: int
    routine: int
    label: int
    thread: int
    cmp: int
    flags: int


CALL_FORMATS = "qqqqqiiiiHHHBB"
"""The formats of `struct` of the fields of `TracedCall`, without padding."""
