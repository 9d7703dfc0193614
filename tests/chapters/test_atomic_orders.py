"""``order=`` of atomics: results as without it, and data that arrive before a flag, also by late delivery."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from common import dpex, dpnp, kapi, same

import ishmem
from ishmem.common.type_tables import ATOMICS

ORDERS = (ishmem.ORDER_RELAXED, ishmem.ORDER_ACQUIRE, ishmem.ORDER_RELEASE, ishmem.ORDER_ACQ_REL)
OPERANDS = {(): (), ("value",): (3,), ("cond", "value"): (12, 3)}
TURNS = 12


def check_results() -> None:
    """Each routine and order, on this and on another PE."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for name, atomic in ATOMICS.items():
        results = []
        for order in ({}, *({"order": each} for each in ORDERS)):
            a = ishmem.full(2, 12, dtype=atomic.types[0])
            old = getattr(ishmem, name)(a, *OPERANDS[atomic.operands], (me + 1) % n, index=1, **order)
            ishmem.barrier_all()
            results.append((old, a.asnumpy().tolist()))
            ishmem.free(a)
        assert all(each == results[0] for each in results), name
    a = ishmem.zeros(1, dtype="i8")
    for wrong in (4, -1, "release"):
        with pytest.raises(ValueError, match=r"order is .*; allowed are ORDER_RELAXED, ORDER_ACQUIRE, ORDER_RELEASE"):
            ishmem.atomic_inc(a, me, order=wrong)


@dpex.kernel
def every_shape(item: kapi.Item, a, old, pe, order):  # type: ignore
    ishmem.atomic_inc(a, pe, order=ishmem.ORDER_RELEASE)
    ishmem.atomic_add(a, 5, pe, 1, ishmem.ORDER_RELEASE)
    ishmem.quiet()
    old[0] = ishmem.atomic_fetch(a, pe, order=ishmem.ORDER_ACQUIRE)
    old[1] = ishmem.atomic_fetch_inc(a, pe, 1, order)
    old[2] = ishmem.atomic_swap(a, 40, pe, 2, ishmem.ORDER_ACQ_REL)
    old[3] = ishmem.atomic_compare_swap(a, 12, 41, pe, 3, order=order)
    ishmem.quiet()


def check_shapes() -> None:
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for order in (*map(int, ORDERS), np.int32(3)):
        a, old = ishmem.full(4, 12, dtype="i8"), dpnp.zeros(4, dtype="i8")
        dpex.call_kernel(every_shape, kapi.Range(1), a, old, (me + 1) % n, order)
        ishmem.barrier_all()
        same(old, np.array([13, 17, 12, 12]))
        same(a, np.array([13, 18, 40, 41]))


@dpex.kernel
def pass_on(item: kapi.Item, data, source, flag, seen, pe, turn):  # type: ignore
    ishmem.put(data, source, pe)
    ishmem.atomic_set(flag, turn, pe, order=ishmem.ORDER_RELEASE)
    while ishmem.atomic_fetch(flag, ishmem.my_pe(), order=ishmem.ORDER_ACQUIRE) < turn:
        pass
    for i in range(data.size):
        seen[i] = data[i]


def check_messages(where: str) -> None:
    """Whoever sees the flag of a turn sees its data."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    data, flag = ishmem.zeros(50, dtype="i8"), ishmem.zeros(1, dtype="i8")
    right, left = (me + 1) % n, (me - 1) % n
    for turn in range(1, TURNS + 1):
        values = np.full(50, 100 * turn + me)
        if where == "kernel":
            seen = dpnp.zeros(50, dtype="i8")
            dpex.call_kernel(pass_on, kapi.Range(1), data, dpnp.asarray(values), flag, seen, right, turn)
            found = seen.asnumpy()
        else:
            ishmem.put(data, values, right)
            ishmem.atomic_set(flag, turn, right, order=ishmem.ORDER_RELEASE)
            while ishmem.atomic_fetch(flag, me, order=ishmem.ORDER_ACQUIRE) < turn:
                pass
            found = data.asnumpy()
        same(found, np.full(50, 100 * turn + left))
        ishmem.barrier_all()


@pytest.mark.slow_cases(
    "the same without settings",
    "check_shapes-()-{'ISHMEM_CHECK': '1'}",
    "check_shapes-()-{'ISHMEM_SIM_ORDER': 'late:7'}",
)
@pytest.mark.parametrize("env", [{}, {"ISHMEM_SIM_ORDER": "late:7"}, {"ISHMEM_CHECK": "1"}], ids=str)
@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (check_results, ()), (check_shapes, ()), (check_messages, ("host",)), (check_messages, ("kernel",)),
    ],
    ids=lambda each: getattr(each, "__name__", str(each)),
)  # fmt: skip
def test_messages_of_each_order(pool_with, check: Any, arguments: tuple[str, ...], env: dict[str, str]) -> None:
    pool_with(2, env).run(check, *arguments)


@pytest.mark.slow("test_messages_of_each_order, on one node; test_chapters_on_nodes.py::test_chapter[amo]")
def test_messages_between_nodes(pool_with) -> None:
    pool = pool_with(2, nodes=[1, 1])
    for where in ("host", "kernel"):
        pool.run(check_messages, where)
    pool.run(check_shapes)
