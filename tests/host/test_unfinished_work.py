"""Host calls come after what dpnp has submitted, whether or not its operations return before they have ended."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
from common import dpnp

import ishmem

N = 1 << 18
"""So many elements that an operation has not ended when it returns, if it does not wait."""


def values(pe: int, turn: int) -> Any:
    """Return an array that takes several operations of dpnp."""
    x = dpnp.arange(N, dtype="i8")
    for _ in range(4):
        x = x + pe + turn
    return x


def expected(pe: int, turn: int) -> np.ndarray:
    return np.arange(N, dtype="i8") + 4 * (pe + turn)


def put_signal(dest: Any, turn: int, right: int) -> None:
    flag = ishmem.zeros(1, dtype="u8")
    ishmem.put_signal(dest, values(ishmem.my_pe(), turn), flag, 1, ishmem.SIGNAL_SET, right)
    ishmem.signal_wait_until(flag, ishmem.CMP_EQ, 1)
    ishmem.free(flag)


def put_by_view(dest: Any, turn: int, right: int) -> None:
    ishmem.ptr(dest, right)[...] = values(ishmem.my_pe(), turn)
    ishmem.quiet()


def alltoall(dest: Any, turn: int, _right: int) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    source = ishmem.empty(n * N, dtype="i8")
    source[(me + 1) % n * N :][:N] = values(me, turn)
    result = ishmem.empty(n * N, dtype="i8")
    ishmem.alltoall(result, source)
    dest[...] = result[(me - 1) % n * N :][:N]
    for each in (source, result):
        ishmem.free(each)


def here(turn: int) -> Any:
    return values(ishmem.my_pe(), turn)


CALLS: dict[str, Callable[[Any, int, int], None]] = {
    "put": lambda dest, turn, right: ishmem.put(dest, here(turn), right),
    "iput": lambda dest, turn, right: ishmem.iput(dest, here(turn), 1, 1, N, right),
    "put_on_queue": lambda dest, turn, right: ishmem.put_on_queue(dest, here(turn), right).wait(),
    "put_signal": put_signal, "put_by_view": put_by_view, "alltoall": alltoall,
}  # fmt: skip


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.ishmem(2)
def test_the_source_is_what_dpnp_has_computed(name: str) -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    dest = ishmem.zeros(N, dtype="i8")
    for turn in range(5):
        CALLS[name](dest, turn, (me + 1) % n)
        ishmem.barrier_all()
        assert (dest.asnumpy() == expected((me - 1) % n, turn)).all(), turn
        ishmem.barrier_all()


@pytest.mark.ishmem(2)
def test_a_barrier_comes_after_dpnp() -> None:
    """What dpnp does to this PE's array before a barrier, others see after it."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    own, seen = ishmem.zeros(N, dtype="i8"), np.zeros(N, dtype="i8")
    for turn in range(5):
        own[...] = values(me, turn)
        ishmem.barrier_all()
        ishmem.get(seen, own, (me + 1) % n)
        assert (seen == expected((me + 1) % n, turn)).all()
        ishmem.barrier_all()
