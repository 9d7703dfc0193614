"""``ISHMEM_CHECK``: the work-items of a group that call a routine with different arguments are told."""

from __future__ import annotations

from pathlib import Path

import pytest
from common import CHECKING, dpex, kapi

import ishmem

FINE, PE, COUNT, ARRAY, ROOT, SIGNAL, VALUE, INDEX = range(8)
NAMES = {value: name for name, value in globals().items() if name.isupper() and isinstance(value, int)}
LINES = list(enumerate(Path(__file__).read_text().splitlines(), 1))

EXPECTED = {
    PE: ("put_work_group", "pe", 1),
    COUNT: ("get_work_group", "nelems", 4),
    ARRAY: ("put_nbi_work_group", "source", 7),
    ROOT: ("broadcast_work_group", "root", 2),
    SIGNAL: ("put_signal_work_group", "signal", 3),
    VALUE: ("put_work_group", "source", 6),
    INDEX: ("test_work_group", "index", 3),
}
"""For each case, the routine, the argument that differs, and how many work-items pass another one than the first."""


@dpex.kernel
def call(item: kapi.NdItem, a, b, signal, grid, case):  # type: ignore
    group, me, rank = item.get_group(), ishmem.my_pe(), item.get_local_id(0)
    if case == FINE:
        ishmem.put_work_group(a, b, me, group=group)
    if case == PE:
        ishmem.put_work_group(a, b, me if rank != 3 else ishmem.n_pes() - 1 - me, group=group)
    if case == COUNT:
        ishmem.get_work_group(a, b, me, group, nelems=8 if rank < 4 else 7)
    if case == ARRAY:
        ishmem.put_nbi_work_group(a[:4], b[:4] if rank == 0 else b[4:], me, group=group)
    if case == ROOT:
        ishmem.broadcast_work_group(a, b, 1 if rank > 5 else 0, group=group)
    if case == SIGNAL:
        value = rank // 3 if rank < 6 else 0
        ishmem.put_signal_work_group(a, b, signal, value, ishmem.SIGNAL_SET, me, group=group)
    if case == VALUE:
        ishmem.put_work_group(a, -0.0 if rank < 2 else 0.0, me, group, nelems=1)
    if case == INDEX:
        ishmem.test_work_group(grid, ishmem.CMP_GE, 0, group, index=(0, 1 if rank > 4 else 0))


@CHECKING
def test_differences() -> None:
    me, a, b, signal = ishmem.my_pe(), ishmem.zeros(8), ishmem.ones(8), ishmem.zeros(1, dtype="u8")
    grid = ishmem.zeros((2, 2), dtype="i8")
    for case, (routine, argument, others) in EXPECTED.items():
        dpex.call_kernel(call, kapi.NdRange((8,), (8,)), a, b, signal, grid, case)
        with pytest.raises(ValueError, match=f"^{routine} in a kernel on PE {me}: {argument} differs") as caught:
            ishmem.barrier_all()
        line = next(number for number, text in LINES if f"case == {NAMES[case]}:" in text) + 1 + (case == SIGNAL)
        assert f": {others} of 8 pass another one than the first; all pass the same" in str(caught.value)
        assert str(caught.value).endswith(f"(call, test_group_arguments.py:{line})")
    ishmem.barrier_all()
    dpex.call_kernel(call, kapi.NdRange((8,), (8,)), a, b, signal, grid, FINE)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [1] * 8
