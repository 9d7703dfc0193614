"""Numbers that the compiled core shares with Python and kernels; the build writes them to C++, with other enumerations.

`LINE` and `MAX_TEAMS` are those of `ishmem.common.layout`, which explains them.
"""

from __future__ import annotations

from enum import IntEnum

LINE = 64
MAX_TEAMS = 128
NO_RESULT = 0x80
"""In the code of an atomic: nobody wants the old value, so that between nodes nobody waits for it."""

HELD, NBI = 1 << 24, 1 << 25
"""In the kind of a request: of a program's operation that may arrive late, and of a nonblocking one."""

REQUEST_WORDS = ("turn", "posted", "what", "pe", "offset", "operand", "other", "unused")
"""The words of a kernel's request to the proxy, int64 each; ``ishmem/core/proxy.cpp`` explains them."""


class Mode(IntEnum):
    """What a call on a set of variables looks for."""

    ALL = 0
    ANY = 1
    SOME = 2


class Algorithm(IntEnum):
    """How a collective moves data: see `ishmem.common.algorithms`; `REFUSAL` is a call with wrong arguments."""

    IN_SLOT = 0
    MAPPED = 1
    TREE = 2
    BY_ENGINE = 3
    BY_KERNEL = 4
    LEVELS = 5
    ROUNDS = 6
    REFUSAL = 7


class Request(IntEnum):
    """What a kernel asks the proxy for; `SIGNAL` to `MARK_HELD` only where operations may arrive late."""

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
