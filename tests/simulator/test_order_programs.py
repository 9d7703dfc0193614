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
from subprocesses import place, program, run_program

import ishmem
from ishmem import _core
from ishmem.runtime import late_delivery
from ishmem.testing import Pes

CHAPTERS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "rma": (test_rma.check_host_cases, ("int32", SAMPLE)),
    "rma, in kernels": (test_rma.test_each_work_item_puts_a_row, ()),
    "strided": (test_strided.test_host_strides_of_each_type, ("int16",)),
    "amo": (test_amo.test_host_atomics_at_the_limits_of_a_type, ("int64",)),
    "signals": (test_signals.check_ordering, (30, 20)),
    "order": (test_order.check_order, ("kernel", "host", 20)),
    "wait": (test_wait.host_ring, (5,)),
    "locks": (test_locks.check_host, (12, 0)),
}
"""One test of each; all of them pass with ``ISHMEM_SIM_ORDER=late`` in the environment of pytest."""

SEEDS = 10
PES = 2
LATE = pytest.mark.ishmem(PES, env={"ISHMEM_SIM_ORDER": "late"}, exact=True)

@pytest.mark.slow_cases(
    "the others; `make order` runs all of them",
    "2pes-add_after_set_in_kernel",
    "2pes-elements_in_kernel",
    "2pes-got_too_early_in_kernel",
    "2pes-no_wait_in_kernel",
    "2pes-signal_in_kernel",
    "2pes-signal_of_view_in_kernel",
    "2pes-strided_in_kernel",
    "2pes-sync_in_kernel",
)
@LATE
@pytest.mark.parametrize("name", programs)
def test_program(pes: Pes, name: str) -> None:
    """It passes with all seeds, and without its call one of the first ten seeds shows that."""
    for wrong, caught in pes.run(runner.seeds_that_fail, name, SEEDS, 1):
        assert not wrong and caught


@pytest.mark.slow_cases("other chapters", "2pes-signals")
@LATE
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter(chapter: str) -> None:
    late_delivery.reseed(3)
    function, arguments = CHAPTERS[chapter]
    function(*arguments)


def test_names_what_was_overtaken() -> None:
    done = run_program(program("flag_without_fence"), PES, env={"ISHMEM_SIM_ORDER": "late:1"})
    assert done.returncode and "the data are not there" in done.stderr
    put, flag = (place("flag_without_fence", mark) for mark in ("the put", "the flag"))
    overtaken = rf"put at \S*{put} to PE ([01]), elements \d to \d of \S.* was on its way when (.*) arrived"
    found = re.search(overtaken, done.stderr)
    assert found and f"{flag} to PE {found[1]}, element 0 of" in found[2], done.stderr


@pytest.mark.slow_cases("the same on the host", "kernel")
@pytest.mark.parametrize("name", ["put_signal_of_blocks_in_a_kernel", "put_signal_of_blocks"], ids=["kernel", "host"])
def test_a_signal_comes_after_all_blocks_of_its_put(name: str) -> None:
    done = run_program(program(name), PES, env={"ISHMEM_SIM_ORDER": "late:1"})
    assert done.returncode == 0, done


def test_names_a_changed_source() -> None:
    done = run_program(program("source_changed_before_quiet"), PES, env={"ISHMEM_SIM_ORDER": "late"})
    at = f"{place('source_changed_before_quiet', 'the put')} to PE 1, elements 0 to 7"
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
        test_order.test_flush_frees_source_buffers(*case)
