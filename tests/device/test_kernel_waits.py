"""A kernel that waits for long says what for: kernel, line, variable and values, the holder of a lock, a PE."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common import dpex, kapi
from subprocesses import program, run_program

import ishmem
from ishmem import _core
from ishmem.common import kernel_wait, packed_text
from ishmem.common.kernel_wait import KernelWait
from ishmem.runtime import job
from ishmem.testing import Pes


@dpex.kernel
def variable(item: kapi.Item, flag):
    ishmem.wait_until(flag, ishmem.CMP_GE, 7, 2)  # variable


@dpex.kernel
def signal(item: kapi.Item, flag):
    ishmem.signal_wait_until(flag, ishmem.CMP_NE, 2**64 - 1, 2)  # signal


@dpex.kernel
def group(item: kapi.NdItem, flag):
    ishmem.wait_until_work_group(flag, ishmem.CMP_EQ, 7, item.get_group(), index=2)  # group


@dpex.device_func
def deep(flag):
    ishmem.wait_until_all(flag[2:], ishmem.CMP_EQ, 7)  # deep


@dpex.kernel
def all_of(item: kapi.Item, flag):
    deep(flag)


@dpex.kernel
def any_of(item: kapi.Item, flag):
    flag[0] = ishmem.wait_until_any(flag, ishmem.CMP_EQ, 7)  # any_of


@dpex.kernel
def lock(item: kapi.Item, words):
    ishmem.set_lock(words, 1)  # lock
    ishmem.clear_lock(words, 1)


@dpex.kernel
def barrier(item: kapi.Item, flag):
    ishmem.barrier_all()  # barrier


@dpex.kernel
def reduce(item: kapi.NdItem, flag, words):
    ishmem.sum_reduce_work_group(flag, words, item.get_group())  # reduce


FORMS = {
    "variable": "kernel variable, {}: wait_until: element 2 of flag is 3, wanted >= 7",
    "signal": f"kernel signal, {{}}: signal_wait_until: element 2 of flag is {2**64 - 1}, wanted != {2**64 - 1}",
    "group": "kernel group, {}: wait_until_work_group: element 2 of flag is 3, wanted == 7",
    "all_of": "kernel deep, {}: wait_until_all: element 0 of the variable is 3, wanted == 7",
    "any_of": "kernel any_of, {}: wait_until_any: none of the 3 elements of flag is as wanted",
    "lock": "kernel lock, {}: set_lock: PE 1 has the lock in element 1 of words",
    "barrier": r"kernel barrier, {}: barrier_all: PE 1 has not begun call \d+ of the team in a kernel",
    "reduce": r"kernel reduce, {}: sum_reduce_work_group: PE 1 has not begun call \d+ of the team in a kernel",
}  # fmt: skip
GROUPS = ("group", "reduce")


def seen(pe: int) -> str:
    return kernel_wait.describe(_core.read(pe, job.current().heap.layout.kernel_wait, kernel_wait.NBYTES))


def launch(form: str, flag: Any, words: Any) -> None:
    size = kapi.NdRange((4,), (4,)) if form in GROUPS else kapi.Range(1)
    arguments = {"reduce": (flag, words), "lock": (words,)}.get(form, (flag,))
    dpex.call_kernel(globals()[form], size, *arguments)


def wait_in_kernel(form: str) -> str:
    """PE 0 waits in a kernel until PE 1 has read what it waits for; return that on PE 1, and "" on PE 0."""
    flag = ishmem.zeros(3, dtype="u8" if form == "signal" else "i8")
    words = ishmem.zeros(3, dtype="i8")
    flag[2] = 2**64 - 1 if form == "signal" else 3
    if form == "lock" and ishmem.my_pe() == 1:
        ishmem.set_lock(words, 1)
    ishmem.sync_all()
    if ishmem.my_pe() == 0:
        launch(form, flag, words)
        return seen(0)
    deadline, text = time.monotonic() + 300, ""
    while not text and time.monotonic() < deadline:
        time.sleep(0.01)
        text = seen(0)
    if form == "lock":
        ishmem.clear_lock(words, 1)
    elif form in ("barrier", "reduce"):
        launch(form, flag, words)
    else:
        ishmem.atomic_set(flag, 7, 0, 2)
    return text


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.ishmem(2)
def test_what_a_kernel_waits_for(pes: Pes, form: str) -> None:
    after, text = pes.run(wait_in_kernel, form)
    source = Path(__file__).read_text().splitlines()
    marks = {"all_of": "deep"}
    line = 1 + next(n for n, words in enumerate(source) if words.endswith(f"# {marks.get(form, form)}"))
    place = rf"test_kernel_waits\.py:{line}"
    assert re.fullmatch(FORMS[form].format(place), text), text
    assert after == ""


@pytest.mark.slow("tests/job/test_faults.py")
def test_reports() -> None:
    """The notice of a long wait tells it; so does the report of the job's end."""
    done = run_program(
        program("kernel_hangs_on_pe_0"), 2, env={"ISHMEM_WAIT_NOTICE": "3"}, options=["--timeout", "15"], timeout=120
    )
    told = "hang, kernel_hangs_on_pe_0.py:12: wait_until: element 0 of flag is 0, wanted == 1"
    assert re.search(rf"a wait has lasted for 3 s .* PE 0: .*{told}; PE 1: ", done.stderr), done
    assert re.search(rf"ishmem run:   PE 0: .*{told}$", done.stderr, re.MULTILINE), done


RECORDS = [
    (KernelWait(), "", ""),
    (KernelWait(1, kernel_wait.PROXY, 5, 7), "", "kernel k, p.py:1: put: the proxy has served 5 requests, wanted > 7"),
    (
        KernelWait(1, kernel_wait.LOCK, pe=-1),
        "j|q.py:2|set_lock|x",
        "kernel j, q.py:2: set_lock: another request gets the",
    ),
    (KernelWait(1, kernel_wait.MEMBER, 0, 3, pe=2), "", "PE 2 has not begun call 3"),
    (KernelWait(1, kernel_wait.VARIABLE, 3, 7, 9), "", "element 0 of x is 3, cmp is 9; allowed are CMP_EQ, CMP_NE"),
]


@pytest.mark.parametrize(("record", "site", "wanted"), RECORDS)
def test_words(record: KernelWait, site: str, wanted: str) -> None:
    texts = site, "k|p.py:1|put|x", "k|p.py:2|put_work_group|x"
    words = [*record, *(word for text in texts for word in packed_text.pack(text, kernel_wait.WORDS))]
    data = np.array(words, "i8").tobytes()
    text = kernel_wait.describe(data)
    assert wanted in text
    assert kernel_wait.describe_group_call(data) == "kernel k, p.py:2: put_work_group"
    assert bool(text) == bool(record.item)
