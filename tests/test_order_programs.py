"""Late delivery (``ISHMEM_SIM_ORDER``): it shows a missing fence, quiet, wait or barrier, and spares right programs."""

from __future__ import annotations

import re
from typing import Any, Callable

import numpy as np
import pytest
import test_amo
import test_locks
import test_order
import test_rma
import test_signals
import test_strided
import test_wait
from common import SAMPLE, dpex, kapi, same, symmetric
from order_programs import runner
from order_programs.arrays import programs
from subprocesses import run_program

import ishmem
from ishmem import _core
from ishmem.runtime import late
from ishmem.testing import Pes

CHAPTERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "rma": (test_rma.check_host_cases, ("int32", SAMPLE)),
    "rma, in kernels": (test_rma.check_many_items, ()),
    "strided": (test_strided.check_host, ("int16",)),
    "amo": (test_amo.check_host, ("int64",)),
    "signals": (test_signals.check_ordering, (30, 20)),
    "order": (test_order.check_order, ("kernel", "host", 20)),
    "wait": (test_wait.host_ring, (5,)),
    "locks": (test_locks.check_host, (12, 0)),
}
"""One test of each; all of them pass with ``ISHMEM_SIM_ORDER=late`` in the environment of pytest."""

SEEDS = 10
PES = 2
LATE = pytest.mark.ishmem(PES, env={"ISHMEM_SIM_ORDER": "late"}, exact=True)

REPORT = """
import numpy as np
import ishmem
from ishmem.runtime import late

with ishmem.init():
    me, n = ishmem.my_pe(), ishmem.n_pes()
    box, flag = ishmem.zeros(8, dtype="i4"), ishmem.zeros(1, dtype="i8")
    for turn in range(1, 30):
        ishmem.put(box[2:], np.full(6, turn, "i4"), (me + 1) % n)  # the put
        ishmem.atomic_set(flag, turn, (me + 1) % n)  # the flag
        ishmem.wait_until(flag, ishmem.CMP_EQ, turn)
        seen = np.empty(8, "i4")
        ishmem.get(seen, box, me)
        assert (seen[2:] == turn).all(), "the data are not there"
        ishmem.barrier_all()
"""

CHANGED = """
import numpy as np
import ishmem

with ishmem.init():
    box, data = ishmem.zeros(8, dtype="i4"), np.ones(8, "i4")
    if ishmem.my_pe() == 0:
        ishmem.put_nbi(box, data, 1)  # the put
        data[:] = 2
    ishmem.barrier_all()
"""
"""PE 0 raises, after PE 1 has left the barrier."""

IN_BLOCKS = """
import dpnp
import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def send(item: kapi.Item, dest, source, flag):
    ishmem.put_signal(dest, source, flag, 1, ishmem.SIGNAL_ADD, 1)

@dpex.kernel
def take(item: kapi.Item, flag, turn, box, seen):
    ishmem.signal_wait_until(flag, ishmem.CMP_GE, turn)
    for i in range(box.size):
        seen[i] = box[i]

with ishmem.init():
    box, data = ishmem.zeros((8, 8), dtype="i4"), ishmem.zeros(128, dtype="i4")
    flag, seen = ishmem.zeros(1, dtype="u8"), dpnp.zeros(64, dtype="i4")
    seen_by = ishmem.zeros(1, dtype="i8")
    tile, transposed = data.reshape(8, 16)[:, :8], data[:64].reshape(8, 8).T
    for turn in range(1, 16):
        data[:] = turn
        ishmem.barrier_all()
        if ishmem.my_pe() == 0:
            dpex.call_kernel(send, kapi.Range(1), box, (tile, transposed)[turn % 2], flag)
            ishmem.wait_until(seen_by, ishmem.CMP_EQ, turn)  # a barrier would deliver all at once
        elif ishmem.my_pe() == 1:
            dpex.call_kernel(take, kapi.Range(1), flag, turn, box.reshape(64), seen)
            assert (seen.asnumpy() == turn).all(), seen
            ishmem.atomic_set(seen_by, turn, 0)
        ishmem.barrier_all()
    ishmem.free_all()
"""

BLOCKS_OF_HOST = """
import numpy as np
import ishmem

with ishmem.init():
    box, flag, seen_by = ishmem.zeros((8, 16), dtype="i4"), ishmem.zeros(1, dtype="u8"), ishmem.zeros(1, dtype="i8")
    for turn in range(1, 16):
        if ishmem.my_pe() == 0:
            data = np.full((8, 16), turn, "i4")
            ishmem.put_signal(box[:, 4:12], data[:, 8:], flag, 1, ishmem.SIGNAL_ADD, 1, nelems=61)  # 7 rows and a part
            ishmem.wait_until(seen_by, ishmem.CMP_EQ, turn)  # a barrier would deliver all at once
        else:
            ishmem.signal_wait_until(flag, ishmem.CMP_GE, turn)
            seen = np.empty((8, 16), "i4")
            ishmem.get(seen, box, 1)
            assert (seen[:, 4:12].ravel()[:61] == turn).all(), seen
            ishmem.atomic_set(seen_by, turn, 0)
        ishmem.barrier_all()
"""


def line_of(program: str, mark: str) -> int:
    return next(number for number, line in enumerate(program.splitlines(), 1) if line.endswith(f"# {mark}"))


@LATE
@pytest.mark.parametrize("name", programs)
def test_program(pes: Pes, name: str) -> None:
    """It passes with all seeds, and without its call one of the first ten seeds shows that."""
    for wrong, caught in pes.run(runner.seeds_that_fail, name, SEEDS, 1):
        assert not wrong and caught


@LATE
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter(chapter: str) -> None:
    late.reseed(3)
    function, arguments = CHAPTERS[chapter]
    function(*arguments)


def test_names_what_was_overtaken() -> None:
    done = run_program(REPORT, PES, env={"ISHMEM_SIM_ORDER": "late:1"})
    assert done.returncode and "the data are not there" in done.stderr
    put, flag = (f"program.py:{line_of(REPORT, mark)}" for mark in ("the put", "the flag"))
    overtaken = rf"put at \S*{put} to PE ([01]), elements \d to \d of \S.* was on its way when (.*) arrived"
    found = re.search(overtaken, done.stderr)
    assert found and f"{flag} to PE {found[1]}, element 0 of" in found[2], done.stderr


@pytest.mark.parametrize("program", [IN_BLOCKS, BLOCKS_OF_HOST], ids=["kernel", "host"])
def test_a_signal_comes_after_all_blocks_of_its_put(program: str) -> None:
    done = run_program(program, PES, env={"ISHMEM_SIM_ORDER": "late:1"})
    assert done.returncode == 0, done


def test_names_a_changed_source() -> None:
    done = run_program(CHANGED, PES, env={"ISHMEM_SIM_ORDER": "late"})
    at = f"program.py:{line_of(CHANGED, 'the put')} to PE 1, elements 0 to 7"
    assert done.returncode and at in done.stderr and "its source has changed before the next quiet" in done.stderr


@LATE
@pytest.mark.parametrize("where", ["host", "kernel"])
def test_flush_is_no_quiet(where: str) -> None:
    """What was put is still on its way after it; that its source has changed then is no error."""
    me, dest = ishmem.my_pe(), ishmem.zeros(300, dtype="f8")
    source = symmetric(np.full(300, 1.0))
    before = ishmem.ones(300)
    held = 0
    for _ in range(20):
        ishmem.barrier_all()
        if where == "kernel":
            dpex.call_kernel(put_and_flush, kapi.Range(1), dest, source, (me + 1) % PES)
        else:
            ishmem.put_nbi(dest, source, (me + 1) % PES)
            ishmem.flush()
        held += any("is on its way" in note for note in _core.late_notes())
        source[:] = 2
        ishmem.barrier_all()
        same(dest, before.asnumpy())
        source[:] = 1
        dest[:] = 0
    assert held


@dpex.kernel
def put_and_flush(item: kapi.Item, dest, source, pe):
    ishmem.put_nbi(dest, source, pe)
    ishmem.flush()


@LATE
def test_flush() -> None:
    for case in test_order.FLUSHES:
        test_order.check_flush(*case)
