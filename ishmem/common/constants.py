"""The named constants of OpenSHMEM, as enumerations that kernels can use too."""

from __future__ import annotations

from enum import IntEnum, IntFlag


class Cmp(IntEnum):
    """Comparisons of ``wait_until`` and ``test`` (OpenSHMEM 1.5, 9.10; the values of Intel SHMEM)."""

    EQ = 1
    NE = 2
    GT = 3
    GE = 4
    LT = 5
    LE = 6


CMP_EQ, CMP_NE, CMP_GT, CMP_GE, CMP_LT, CMP_LE = Cmp

SYMBOLS = {Cmp.EQ: "==", Cmp.NE: "!=", Cmp.GT: ">", Cmp.GE: ">=", Cmp.LT: "<", Cmp.LE: "<="}


class SignalOp(IntEnum):
    """The updates of a signal by ``put_signal``: set it to a value, or add one (OpenSHMEM 1.5, 9.8.2)."""

    SET = 0
    ADD = 1


SIGNAL_SET, SIGNAL_ADD = SignalOp

class MemoryOrder(IntEnum):
    """Memory order of an atomic: release orders earlier operations before it, acquire later accesses after it."""

    RELAXED = 0
    ACQUIRE = 1
    RELEASE = 2
    ACQ_REL = 3


ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_ACQ_REL = MemoryOrder

PREFIXES: dict[type[IntEnum], str] = {Cmp: "CMP", SignalOp: "SIGNAL", MemoryOrder: "ORDER"}
"""Prefixes of the names of those constants that kernels pass as arguments, by enumeration."""


class Thread(IntEnum):
    """Levels of thread support: which threads may call ishmem (OpenSHMEM 1.5, 9.2; the values of Intel SHMEM)."""

    SINGLE = 0
    FUNNELED = 1
    SERIALIZED = 2
    MULTIPLE = 3


THREAD_SINGLE, THREAD_FUNNELED, THREAD_SERIALIZED, THREAD_MULTIPLE = Thread


class Hint(IntFlag):
    """The hints of ``malloc_with_hints``: other PEs use the memory for atomics, or signals (OpenSHMEM 1.5, 9.3.2)."""

    ATOMICS_REMOTE = 1
    SIGNAL_REMOTE = 2


MALLOC_ATOMICS_REMOTE, MALLOC_SIGNAL_REMOTE = Hint


class CtxOption(IntFlag):
    """Options of contexts, which ``ctx_create`` explains (OpenSHMEM 1.5, 9.5.1)."""

    SERIALIZED = 1
    PRIVATE = 2
    NOSTORE = 4


CTX_SERIALIZED, CTX_PRIVATE, CTX_NOSTORE = CtxOption


class SessionOption(IntFlag):
    """Hints on the operations of a context's session: a series that may be batched (OpenSHMEM 1.6, 9.9.2)."""

    BATCH = 1


(CTX_SESSION_BATCH,) = SessionOption

VERSION = (1, 6)
VENDOR_NAME = "ishmem for Python"
