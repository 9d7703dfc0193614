"""Late delivery (``ISHMEM_SIM_ORDER``) to PEs of other nodes; `test_order_programs` has that on one node."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
import test_order_programs as on_one_node
from common import dpex, kapi
from order_programs import runner
from order_programs.arrays import programs
from subprocesses import place, program, run_command

import ishmem
from ishmem.runtime import late_delivery
from ishmem.testing import Pes, nodes as emulated

SEEDS = 3
BOTH = ("flag_by_signal_of_view", "fence_for_quiet", "flag_by_p", "work_group")
"""Programs for a job in which each PE has one neighbour on its node and one on the other."""

LONG = 3001
"""Elements of more than a packet between engines, and no multiple of its parts."""


@pytest.fixture(scope="module")
def apart(pool_with: Callable[..., Pes]) -> Pes:
    """PEs that are alone on their nodes."""
    return pool_with(2, {"ISHMEM_SIM_ORDER": "late"}, [1, 1])


@pytest.fixture(scope="module")
def spread(pool_with: Callable[..., Pes]) -> Pes:
    return pool_with(4, {"ISHMEM_SIM_ORDER": "late"}, [2, 2])


def check_program(pes: Pes, name: str) -> None:
    """It passes with all seeds, and without its call one of the first ten seeds shows that."""
    for wrong, caught in pes.run(runner.seeds_that_fail, name, SEEDS, 1):
        assert not wrong and caught


@pytest.mark.slow("test_program_with_near_and_far_peers; test_order_programs.py, on one node")
@pytest.mark.parametrize("name", programs)
def test_program(apart: Pes, name: str) -> None:
    check_program(apart, name)


def check_long() -> None:
    """Long transfers in parts, their order, and what a nonblocking get shows before it is complete."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    other = (me + n // 2) % n  # on the other node
    box, data = ishmem.zeros(LONG, dtype="i8"), ishmem.full(LONG, me, dtype="i8")
    ishmem.barrier_all()
    for value in range(5):
        ishmem.put(box, np.full(LONG, value - 1, "i8"), other)
        ishmem.fence()
        ishmem.put_nbi(box, np.full(LONG, value, "i8"), other)
        ishmem.barrier_all()
        assert (box.asnumpy() == value).all()
        seen = np.zeros(LONG, "i8")
        ishmem.get_nbi(seen, data, other)
        assert (seen.view("u1") == 0xA5).all()
        ishmem.quiet()
        assert (seen == other).all()
        ishmem.barrier_all()


@pytest.mark.slow("test_program_with_near_and_far_peers")
def test_long(spread: Pes) -> None:
    spread.run(check_long)


@pytest.mark.slow_cases("the other programs", "fence_for_quiet", "flag_by_signal_of_view", "work_group")
@pytest.mark.parametrize("name", BOTH)
def test_program_with_near_and_far_peers(spread: Pes, name: str) -> None:
    check_program(spread, name)


@pytest.mark.slow_cases("test_chapters_on_nodes.py::test_chapter, on two nodes", "amo", "order", "rma, in kernels")
@pytest.mark.parametrize("chapter", on_one_node.CHAPTERS)
def test_chapter(spread: Pes, chapter: str) -> None:
    spread.run(late_delivery.reseed, 3)
    function, arguments = on_one_node.CHAPTERS[chapter]
    spread.run(function, *arguments)


@dpex.kernel
def collect_alone(_item: kapi.Item, total, every, root, one):
    ishmem.sum_reduce(total, one)
    ishmem.fcollect(every, one)
    ishmem.broadcast(root, one, 0)
    ishmem.barrier_all()


@dpex.kernel
def collect_by_group(item: kapi.NdItem, total, every, root, one):
    group = item.get_group()
    ishmem.sum_reduce_work_group(total, one, group)
    ishmem.fcollect_work_group(every, one, group)
    ishmem.broadcast_work_group(root, one, 0, group)
    ishmem.barrier_all_work_group(group)


def check_kernels(size: int) -> None:
    """Collectives in kernels of one work-item and of a work-group, on ``size`` elements."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    total, root, one = (ishmem.full(size, me + 1, dtype="i8") for _ in range(3))
    every = ishmem.zeros((n, size), dtype="i8")
    for kernel, space in ((collect_alone, kapi.Range(1)), (collect_by_group, kapi.NdRange((8,), (8,)))):
        ishmem.barrier_all()
        dpex.call_kernel(kernel, space, total, every, root, one)
        assert (total.asnumpy() == n * (n + 1) // 2).all() and (root.asnumpy() == 1).all()
        assert (every.asnumpy() == np.arange(1, n + 1)[:, None]).all()
        ishmem.barrier_all()
        total[:] = root[:] = every[:] = 0
    for array in (total, root, one, every):
        ishmem.free(array)


INDIRECT = {
    "late": {"ISHMEM_SIM_ORDER": "late:1"},
    "without peer access": {"ISHMEM_SIM_PEERS": "none", "ISHMEM_SIM_DEVICES": "4"},
}
"""Settings with which kernels reach PEs of their node, if there are any, through the proxy."""


@pytest.mark.slow("test_chapters_on_nodes.py")
@pytest.mark.parametrize("sizes", [(2, 1), (1, 2), (3, 1), (1, 1, 2)], ids=str)
@pytest.mark.parametrize("settings", INDIRECT)
def test_collectives_of_kernels_on_unequal_nodes(sizes: tuple[int, ...], settings: str) -> None:
    """A PE that is alone on its node runs the same algorithm as PEs that have others on theirs."""
    with Pes(sum(sizes), env={**INDIRECT[settings], "ISHMEM_TIMEOUT": "120"}, nodes=sizes) as pool:
        for size in (1, 5000):
            pool.run(check_kernels, size)


def test_names_a_changed_source() -> None:
    command = [sys.executable, str(program("source_changed_before_quiet"))]
    done = run_command(emulated.launcher([1, 1], command, preloaded=True), env={"ISHMEM_SIM_ORDER": "late:0"})
    at = f"{place('source_changed_before_quiet', 'the put')} to PE 1, elements 0 to 7"
    assert done.returncode and at in done.stderr and "its source has changed before the next quiet" in done.stderr
