"""Memory beyond 2 and 4 GiB: every chapter at the heap's far end, far elements, and blocks of more than 2 GiB.

The memory of the simulator is taken only where it is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Callable

import numpy as np
import pytest
import test_chapters_on_nodes
from common import dpex, kapi

import ishmem
from ishmem.testing import Pes

LAYOUTS = pytest.mark.parametrize("pool", ["2", "1+1"], indirect=True)
FAR = (1 << 31) + 1, (1 << 32) + 1
"""Numbers that 32 bits do not hold, with and without a sign."""
COUNT = (1 << 31) + 5 * 4096 + 8
"""Bytes of a block."""
HALF = COUNT // 2
MARKED = (0, 1, HALF, (1 << 31) - 1, 1 << 31, COUNT - 1)

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="takes memory only on the simulator")


@pytest.fixture
def pool(request: pytest.FixtureRequest) -> Iterator[Pes]:
    """Two PEs on one node or two, with heaps that no card has; they end with the test, since it touches much memory."""
    env = {"ISHMEM_SYMMETRIC_SIZE": "64G", "ISHMEM_SIM_MEMORY": "256G"}
    pes = Pes(2, env, [1, 1] if request.param == "1+1" else None)
    yield pes
    pes.stop()


def check_chapters() -> None:
    """All addresses are more than 4 GiB from the start of the heap."""
    ishmem.malloc((9 << 29) + 3 * 64)
    for function, arguments in test_chapters_on_nodes.CHAPTERS.values():
        function(*arguments)


@dpex.kernel
def far_elements(small, words, source, seen, right, far):
    ishmem.p(small, 7, right, far)
    ishmem.put(small[far + 1 :], source, right, 2)
    ishmem.iput(small[5:], source, far, 1, 2, right)
    seen[0] = ishmem.atomic_fetch_add(words, 5, right, far)
    seen[1] = ishmem.atomic_compare_swap(words, 5, 11, right, far)
    ishmem.quiet()
    ishmem.wait_until(words, ishmem.CMP_EQ, 11, far)
    seen[2] = ishmem.g(words, right, far)
    seen[3] = ishmem.g(small, right, far)


def check_far_elements() -> None:
    me, right = ishmem.my_pe(), (ishmem.my_pe() + 1) % ishmem.n_pes()
    small, words = ishmem.empty(2 * FAR[1] + 9, dtype="i1"), ishmem.empty(FAR[1] + 9, dtype="i4")
    seen, source = ishmem.zeros(4, dtype="i8"), ishmem.array(np.array([8, 9], "i1"))
    for far in FAR:
        for index in (0, 1, far, far + 1, 2 * far):
            ishmem.p(small, 0, me, index)
        ishmem.p(words, 0, me, far), ishmem.p(words, 0, me, 1)
        ishmem.barrier_all()
        dpex.call_kernel(far_elements, kapi.Range(1), small, words, source, seen, right, far)
        assert seen.asnumpy().tolist() == [0, 5, 11, 7]
        ishmem.barrier_all()
        assert [ishmem.g(small, me, index) for index in (far + 1, far + 2, 5, far + 5)] == [8, 9, 8, 9]
        assert ishmem.atomic_swap(words, 3, right, far) == 11 and ishmem.g(words, me, 1) == 0
        ishmem.wait_until(words, ishmem.CMP_EQ, 3, index=far)
        ishmem.iput(small, np.array([1, 2, 3], "i1"), far, 1, 3, right)
        ishmem.put(small[far + 1 : far + 2], np.array([4], "i1"), right)
        ishmem.barrier_all()
        assert [ishmem.g(small, me, index) for index in (0, 1, far, far + 1, 2 * far)] == [1, 0, 2, 4, 3]
        got = np.zeros(3, "i1")
        ishmem.get(got, small[::far][:3], right)
        assert got.tolist() == [1, 2, 3]
        ishmem.barrier_all()


@pytest.mark.slow_cases("one node", "1+1")
@LAYOUTS
def test_far_elements(pool) -> None:
    pool.run(check_far_elements)


def check_one_transfer() -> None:
    """PE 0 sends and receives a block of more than 2**32 bytes, of odd size; only one PE's pages are new each time."""
    nbytes = (1 << 32) + 4099
    places = (0, 1, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, nbytes - 1)
    block, me = ishmem.empty(nbytes + 1, dtype="u1"), ishmem.my_pe()
    moves: dict[str, Any] = {
        "put": lambda: ishmem.put(block, block, 1, nbytes),
        "get": lambda: ishmem.get(block, block, 1, nbytes),
        "put_work_group": lambda: dpex.call_kernel(put_all, kapi.NdRange((64,), (64,)), block, block, 1, nbytes),
    }
    for call, (name, move) in enumerate(moves.items()):
        receiver = 0 if name == "get" else 1
        for number, place in enumerate((*places, nbytes)):
            ishmem.p(block, 10 * call + number + 100 * (me == receiver), me, place)
        ishmem.barrier_all()
        if me == 0:
            move()
        ishmem.barrier_all()
        seen = [ishmem.g(block, receiver, place) for place in (*places, nbytes)]
        assert seen == [*(10 * call + number for number in range(len(places))), 10 * call + len(places) + 100], name
        ishmem.barrier_all()


@dpex.kernel
def put_all(item: kapi.NdItem, dest, source, right, count):
    ishmem.put_work_group(dest, source, right, item.get_group(), count)


class Blocks:
    """A block of each PE, marked at some places, and one to receive."""

    def __init__(self) -> None:
        self.me, self.right = ishmem.my_pe(), (ishmem.my_pe() + 1) % ishmem.n_pes()
        self.source, self.dest = ishmem.empty(COUNT, dtype="u1"), ishmem.empty(COUNT, dtype="u1")
        for number, index in enumerate(MARKED):
            ishmem.p(self.source, 10 * self.me + number, self.me, index)
        ishmem.barrier_all()

    def check(self, about: str, wanted: list[int], places: tuple[int, ...] = MARKED) -> None:
        ishmem.barrier_all()
        seen = [ishmem.g(self.dest, self.me, index) for index in places]
        assert seen == wanted, about
        for index in places:
            ishmem.p(self.dest, 99, self.me, index)
        ishmem.barrier_all()


def check_blocks() -> None:
    blocks = Blocks()
    dest, source, left = blocks.dest, blocks.source, [10 * blocks.right + number for number in range(len(MARKED))]
    moves: dict[str, Any] = {
        "get_nbi": lambda: (ishmem.get_nbi(dest, source, blocks.right), ishmem.quiet()),
        "put_on_queue": lambda: (ishmem.put_on_queue(dest, source, blocks.right).wait(), ishmem.quiet()),
    }
    for name, move in moves.items():
        move()
        blocks.check(name, left)
    ishmem.broadcast(dest, source, 1)
    blocks.check("broadcast", [10 + number for number in range(len(MARKED))])
    ishmem.fcollect(dest, source, nelems=HALF)
    blocks.check("fcollect", [0, 1, 10, 11], (0, 1, HALF, HALF + 1))
    ishmem.alltoall(dest, source, nelems=HALF)
    blocks.check("alltoall", [2 * blocks.me, 10 + 2 * blocks.me], (0, HALF))
    ishmem.sum_reduce(dest, source)
    blocks.check("sum_reduce", [10 + 2 * number for number in range(len(MARKED))])


@pytest.mark.slow("test_far_elements")
@LAYOUTS
@pytest.mark.parametrize("check", [check_chapters, check_one_transfer, check_blocks], ids=lambda check: check.__name__)
def test_beyond_4_gib(pool, check: Callable[[], None]) -> None:
    """The two blocks of each PE take 9 GiB together."""
    pool.run(check, timeout=600)
