"""``ISHMEM_CHECK`` and collectives in kernels: what does not match is raised on every PE, and nobody hangs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from common import dpex, dpnp, kapi
from pes import Pool

import ishmem

FINE, SIZE, ROOT, BARRIER, TEAM, LOCAL, OUTSIDE = range(7)

# What each case raises on every PE, and words of the message.
EXPECTED = {
    SIZE: (ishmem.SymmetryError, "the PEs disagree.*sum_reduce of [34] elements.*sum_reduce of [34] elements"),
    BARRIER: (ishmem.SymmetryError, "the PEs disagree.*barrier_all, sync_all or team_sync"),
    ROOT: (IndexError, "broadcast in a kernel on PE .: root is 2; PEs of the team are numbered 0 to 1"),
    TEAM: (ValueError, r"team is 9; those of this PE are \[0, 1, 2\]"),
    OUTSIDE: (IndexError, "5 elements from element 0 on are not all in the array of 4 elements"),
    LOCAL: (ishmem.SymmetryError, "is not on the symmetric heap|arguments were refused"),
}


@dpex.kernel
def call(item: kapi.Item, a, b, local, case):  # type: ignore
    me = ishmem.my_pe()
    if case == FINE:
        ishmem.sum_reduce(a, b)
    if case == SIZE:
        ishmem.sum_reduce(a, b, 0, 3 + me)
    if case == ROOT:
        ishmem.broadcast(a, b, 2)
    if case == BARRIER:
        if me == 0:
            ishmem.barrier_all()
        else:
            ishmem.sum_reduce(a, b)
    if case == TEAM:
        ishmem.sum_reduce(a, b, 9)
    if case == LOCAL:
        if me == 0:
            ishmem.sum_reduce(a, local)
        else:
            ishmem.sum_reduce(a, b)
    if case == OUTSIDE:
        ishmem.sum_reduce(a, b, 0, 5)


def check_violations() -> None:
    a, b, local = ishmem.zeros(4, dtype="i8"), ishmem.ones(4, dtype="i8"), dpnp.ones(4, dtype="i8")
    for case, (kind, words) in EXPECTED.items():
        dpex.call_kernel(call, kapi.Range(1), a, b, local, case)
        with pytest.raises(kind, match=words):
            ishmem.barrier_all()
        assert not a.asnumpy().any()
        ishmem.barrier_all()
    dpex.call_kernel(call, kapi.Range(1), a, b, local, FINE)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [2, 2, 2, 2]


@pytest.fixture(scope="module")
def checking() -> Iterator[Pool]:
    pool = Pool(2, {"ISHMEM_CHECK": "1"})
    yield pool
    pool.stop()


def test_what_does_not_match_is_raised(checking: Pool) -> None:
    checking.run(check_violations, timeout=120)
