"""Jobs whose devices do not reach each other, or not by atomics: the same operations with the same results.

The simulator imitates such machines. The checks are those of the tests of the operations.
"""

from __future__ import annotations

from typing import Any, Callable

import pytest
import test_amo
import test_contexts
import test_kernels_collectives
import test_kernels_reductions
import test_locks
import test_on_queue
import test_order
import test_reductions
import test_register
import test_rma
import test_signals
import test_strided
from common import SAMPLE, dpex, kapi, refused

import ishmem
from ishmem import _core
from ishmem.common.errors import IshmemError
from ishmem.runtime import job
from ishmem.runtime.kernel_routes import Route

MODES = {
    "PCIe": {"ISHMEM_SIM_PEERS": "access", "ISHMEM_SIM_HOST_ATOMICS": "0"},
    "none": {"ISHMEM_SIM_PEERS": "none"},
    "none, discrete": {"ISHMEM_SIM_PEERS": "none", "ISHMEM_SIM_HOST_ATOMICS": "0", "ISHMEM_SIM_STRICT": "1"},
}
"""Cards on PCIe; cards that do not reach each other; the same with memory that the host reaches by its mapping only."""

ATOMICS: list[tuple[Any, ...]] = [
    (test_signals.check_payload, "int32"),
    (test_amo.test_kernel_atomics_at_the_limits_of_a_type, "float64"),
    (test_signals.check_kernel, "float64", 5),
    (test_locks.check_kernel, 4, 0, False),
    (test_order.check_order, "kernel", "kernel", 10),
    (test_on_queue.check_chain, 3),
]
GROUP_REDUCTIONS = (test_kernels_reductions.check_all, "float64", "few by group", (3, 700))
COLLECTIVES: list[tuple[Any, ...]] = [
    (test_kernels_collectives.check_all, "int32", "group", (1, 300)),
    (test_kernels_collectives.check_counted, "int16", "group", (1, 300)),
    (test_kernels_reductions.check_all, "float64", "reals", (3, 700)),
    GROUP_REDUCTIONS,
]
FEW_COLLECTIVES: list[tuple[Any, ...]] = [  # kernels with all of them take long to compile
    (test_kernels_collectives.check_back_to_back, 300, 20),
    (test_kernels_reductions.check_all, "float64", "numbers", (3, 150)),
    GROUP_REDUCTIONS,
]
HOST: list[tuple[Any, ...]] = [
    (test_rma.check_host_cases, "float16", SAMPLE[::3]),
    (test_rma.test_p_and_g_of_each_type, "complex128"),
    (test_rma.test_host_copies_of_large_arrays, "uint8"),
    (test_rma.test_arrays_off_the_heap, "float64"),
    (test_strided.test_views_of_each_shape, "float32", 0),
    (test_register.check_moves, 33),
    (test_register.check_collectives, "int64", (1, 700)),
    (test_reductions.check_halves, "bfloat16", (1, 5001), ("sum_reduce", "sum_exscan")),
    (test_strided.test_host_strides_of_each_type, "int16"),
    (test_contexts.test_each_operation_in_a_context,),
    (test_on_queue.test_copies_of_each_type_and_alignment, "int16"),
    (test_on_queue.test_strided_copies, "int32"),
]
KERNELS: list[tuple[Any, ...]] = [
    (test_rma.check_kernel_cases, "complex128", SAMPLE[::3]),
    (test_rma.check_group_cases, "float32", SAMPLE[::3], (7,)),
    (test_rma.check_kernel_large, "uint8", (3 << 20) + 5),
    (test_rma.test_each_work_item_puts_a_row,),
    (test_rma.test_arrays_off_the_heap_in_kernels,),
    (test_signals.check_group, 3, (7,)),
    (test_strided.check_kernel, "int16", (7,)),
    (test_on_queue.test_barriers_deliver_earlier_puts,),
]
CHECKS = {
    "PCIe": [*ATOMICS, *FEW_COLLECTIVES],
    "none": [*COLLECTIVES, (test_amo.test_kernel_atomics_at_the_limits_of_a_type, "uint32"), *KERNELS],
    "none, discrete": [*HOST, (test_rma.test_arrays_off_the_heap_in_kernels,)],
}


@pytest.fixture
def far(request: pytest.FixtureRequest, pool_with: Any) -> Any:
    """Two PEs of a mode."""
    return pool_with(2, MODES[request.param])


def on(*names: str) -> Any:
    """Run a test in these modes."""
    return pytest.mark.parametrize("far", names, indirect=True)


def check_routes(wanted: int) -> None:
    heap, me, n = job.current().heap, ishmem.my_pe(), ishmem.n_pes()
    assert heap.routes == [Route.DIRECT if pe == me else wanted for pe in range(n)]
    assert heap.needs_proxy
    a = ishmem.arange(10)
    for pe in range(n):
        assert ishmem.pe_accessible(pe)
        assert (ishmem.ptr(a, pe) is None) == (heap.routes[pe] == Route.STAGED)
    assert (ishmem.team_ptr(ishmem.TEAM_WORLD, a, 1 - me) is None) == (wanted == Route.STAGED)


@pytest.mark.parametrize(
    ("far", "wanted"),
    [("PCIe", Route.STORES), ("none", Route.STAGED), ("none, discrete", Route.STAGED)],
    indirect=["far"],
)
def test_routes(far, wanted: Route) -> None:
    far.run(check_routes, wanted)


@pytest.mark.slow_cases(
    "the same with other settings",
    "PCIe-test_kernels_collectives.check_back_to_back",
    "PCIe-test_kernels_reductions.check_all0",
    "PCIe-test_kernels_reductions.check_all1",
    "PCIe-test_locks.check_kernel",
    "PCIe-test_signals.check_kernel",
)
@pytest.mark.slow_cases(
    "the same by PCIe; by the proxy: test_chapters_on_nodes.py::test_chapter, on two nodes",
    "none-",
)
@pytest.mark.parametrize(
    ("far", "check", "arguments"),
    [
        pytest.param(mode, function, arguments, id=f"{mode}-{function.__module__}.{function.__name__}")
        for mode, checks in CHECKS.items()
        for function, *arguments in checks
    ],
    indirect=["far"],
)
def test_operation(far, check: Callable[..., None], arguments: list[Any]) -> None:
    far.run(check, *arguments)


@pytest.mark.slow("test_operation, at once")
@on("PCIe", "none")
def test_contention(far) -> None:
    """Atomics of hosts and kernels, of owners and peers, on the same elements: none is lost."""
    test_amo.check_tickets(far.run(test_amo.everyone))


@on("PCIe")
def test_views(far) -> None:
    far.run(test_rma.test_ptr_views, "float64")
    far.run(test_rma.test_ptr_in_kernel)


@dpex.device_func
def store_unless_none(view, value):
    if view is None:
        return -1
    view[0] = value
    return 1


@dpex.kernel
def compare_with_none(item: kapi.Item, a, b, empty, pe, seen):
    view, single, part = ishmem.ptr(a, pe), ishmem.ptr(b, pe), ishmem.ptr(a[1:], pe)
    member = ishmem.team_ptr(ishmem.TEAM_WORLD, a, pe)
    if view is None:
        seen[0] = 1
    else:
        view[2] = 7
    if single is not None:
        single[()] = 8
    seen[1] = None is single
    seen[2] = 1 if member is None else 0
    seen[3] = part is None
    seen[4] = store_unless_none(view, 9)
    seen[5] = empty is None or a is None
    seen[6] = view.size


@dpex.kernel
def compare_by_group(item: kapi.NdItem, a, pe, seen):
    view = ishmem.ptr(a, pe)
    seen[item.get_global_id(0)] = view is None


def check_none_in_kernels() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a, b, empty = ishmem.zeros(3, dtype="i8"), ishmem.zeros((), dtype="i8"), ishmem.zeros(0, dtype="i8")
    seen, by_group = ishmem.zeros(7, dtype="i8"), ishmem.zeros(8, dtype="i8")
    right, left = (me + 1) % n, (me - 1) % n
    for pe in (me, right):
        a[:] = b[...] = seen[:] = 0
        ishmem.barrier_all()
        dpex.call_kernel(compare_with_none, kapi.Range(1), a, b, empty, pe, seen)
        dpex.call_kernel(compare_by_group, kapi.NdRange((8,), (4,)), a, pe, by_group)
        ishmem.barrier_all()
        none = int(ishmem.ptr(a, pe) is None)
        assert seen.asnumpy().tolist() == [none, none, none, none, -1 if none else 1, 0, 0 if none else 3]
        assert (by_group.asnumpy() == none).all()
        none = int(ishmem.ptr(a, me if pe == me else left) is None)
        assert a.asnumpy().tolist() == ([0, 0, 0] if none else [9, 0, 7]) and int(b) == (0 if none else 8)
        ishmem.barrier_all()
    for array in (a, b, empty, seen, by_group):
        ishmem.free(array)


@on("PCIe", "none", "none, discrete")
def test_ptr_is_none_in_kernels(far) -> None:
    far.run(check_none_in_kernels)


def test_ptr_of_a_pe_on_another_node_is_none_in_kernels(pool_with) -> None:
    pool_with(3, nodes=[2, 1]).run(check_none_in_kernels)


@dpex.kernel
def store_to(item: kapi.Item, a, pe):
    view = ishmem.ptr(a, pe)
    view[1] = 5


@dpex.kernel
def store_to_single(item: kapi.Item, a, pe):
    view = ishmem.ptr(a, pe)
    view[()] = 5


def check_empty_access() -> None:
    a, b, pe = ishmem.zeros(3, dtype="i8"), ishmem.zeros((), dtype="i8"), 1 - ishmem.my_pe()
    for kernel, array in ((store_to, a), (store_to_single, b)):
        dpex.call_kernel(kernel, kapi.Range(1), array, pe)
        words = r"it has no elements; if it is from ptr, .*: test the result with `is None`.* \(store_to"
        refused(IndexError, words, ishmem.barrier_all)
        ishmem.barrier_all()
    assert not a.asnumpy().any() and not b.asnumpy().any()


@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="kernels of numba-dpex have no checks of indices")
def test_access_through_an_empty_ptr_is_reported(pool_with) -> None:
    pool_with(2, {**MODES["none"], "ISHMEM_CHECK": "1"}).run(check_empty_access)


# ---- what goes through the proxy, and what does not


@dpex.kernel
def many(item: kapi.Item, a, b, pe):
    i = item.get_id(0)
    ishmem.p(a, i + 1, pe, i)
    ishmem.put(b[i * 4 : i * 4 + 4], a[:4], ishmem.my_pe())
    ishmem.atomic_add(b, 1, ishmem.my_pe(), 4 * a.size)


@dpex.kernel
def add_to(item: kapi.Item, a, pe):
    ishmem.atomic_inc(a, pe, 0)


def check_counts() -> None:
    n, pe = 300, 1 - ishmem.my_pe()
    a, b = ishmem.zeros(n, dtype="int64"), ishmem.zeros(4 * n + 1, dtype="int64")
    before = _core.proxy_served()
    dpex.call_kernel(many, kapi.Range(n), a, b, pe)
    ishmem.quiet()  # completes what the kernel has begun
    # On PCIe the atomics on this PE's own memory go through the host, otherwise the stores to the peer.
    assert _core.proxy_served() - before == n
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == list(range(1, n + 1))
    assert int(b[4 * n]) == n
    ishmem.barrier_all()  # all have looked
    before = _core.proxy_served()
    dpex.call_kernel(add_to, kapi.Range(n), a, pe)
    assert _core.proxy_served() - before == n, "more than the ring has slots"
    ishmem.barrier_all()
    assert int(a[0]) == n + 1


@on("PCIe", "none")
def test_only_what_must_goes_through_the_host(far) -> None:
    far.run(check_counts)


@dpex.kernel
def store_at(item: kapi.Item, a, pe, index):
    ishmem.p(a, 1.0, pe, index)


def check_bad_requests() -> None:
    a, pe = ishmem.zeros(4), 1 - ishmem.my_pe()
    dpex.call_kernel(store_at, kapi.Range(1), a, pe, 1 << 40)
    refused(IshmemError, "outside the symmetric heap", ishmem.quiet)
    ishmem.barrier_all()
    dpex.call_kernel(store_at, kapi.Range(1), a, pe, 3)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [0, 0, 0, 1]


@on("none", "none, discrete")
def test_requests_that_make_no_sense(far) -> None:
    far.run(check_bad_requests)


# ---- four PEs on two cards


def check_cards() -> None:
    me = ishmem.my_pe()
    assert job.current().heap.routes == [Route.DIRECT if pe // 2 == me // 2 else Route.STAGED for pe in range(4)]


@pytest.mark.slow("test_operation")
def test_two_cards(pool_with) -> None:
    cards = pool_with(4, {"ISHMEM_SIM_PEERS": "none", "ISHMEM_SIM_CARD": "2"})
    cards.run(check_cards)
    cards.run(test_rma.check_kernel_cases, "int16", SAMPLE[::3])
    cards.run(test_rma.check_host_cases, "float16", SAMPLE[::3])
    cards.run(test_order.test_quiet_delivers_everything)
    test_amo.check_tickets(cards.run(test_amo.everyone))


@pytest.mark.ishmem(2)
def test_no_proxy_where_all_is_direct() -> None:
    heap = job.current().heap
    assert not heap.needs_proxy
    assert set(heap.routes) == {Route.DIRECT}
