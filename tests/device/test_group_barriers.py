"""With ``ISHMEM_CHECK``, the simulator reports barriers of a group that a part of its work-items does not reach."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap

import pytest
from common import dpex
from subprocesses import run_program

pytestmark = [
    pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only"),
    pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="for the OpenCL runtime of today's stack only"),
]

PROGRAM = """
import os
import dpnp
import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def wrong(item, a, b, pe):
    group, me = item.get_group(), item.get_local_id(0)
{body}

with ishmem.init():
    a, b = ishmem.zeros(64, dtype="uint64"), ishmem.zeros(64, dtype="uint64")
    dpex.call_kernel(wrong, dpex.NdRange(({width},), ({width},)), a, b, 0)
    print("back")
"""

SYNCS = {
    "group_barrier": "kapi.group_barrier(group)",
    "put_work_group": "ishmem.put_work_group(b, a, pe, group)",
    "put_signal_work_group": "ishmem.put_signal_work_group(b[1:], a[1:], b, 1, ishmem.SIGNAL_ADD, pe, group)",
    "sum_reduce_work_group": "ishmem.sum_reduce_work_group(b, a, group)",
    "wait_until_work_group": "ishmem.wait_until_work_group(a, ishmem.CMP_EQ, 0, group)",
}

SHAPES = {
    "the first": "if me == 0:\n    {sync}\na[me] = 1",
    "the last": "if me == last:\n    {sync}\na[me] = 1",
    "return": "if me > 2:\n    return\n{sync}\na[me] = 1",
    "loop": "for i in range(1 + me % 3):\n    {sync}\n    a[me] += 1",
    "divergent": "if me < 3:\n    a[me] = 1\n    {sync}\nelse:\n    a[me] = 2\n    {sync}\n    a[me] += b[me]",
}


def launch(body: str, width: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a kernel of one work-group."""
    indented = textwrap.indent(body.replace("last", str(width - 1)), "    ")
    return run_program(PROGRAM.format(body=indented, width=width), 1, env={"ISHMEM_CHECK": "1", **environment})


CASES = [
    *((shape, "group_barrier", width) for shape in SHAPES for width in (4, 16)),
    *(("the first", sync, 16) for sync in SYNCS if sync != "group_barrier"),
    ("return", "put_work_group", 4), ("loop", "put_work_group", 16), ("divergent", "put_work_group", 16),
]  # fmt: skip
"""Less work-items than the runtime executes as one vector, and more."""


@pytest.mark.slow_cases(
    "the same in groups of 4",
    "divergent-group_barrier-16",
    "the first-group_barrier-16",
    "the last-group_barrier-16",
)
@pytest.mark.slow_cases(
    "the other shapes",
    "divergent-group_barrier-4",
    "divergent-put_work_group-16",
    "loop-put_work_group-16",
    "the last-group_barrier-4",
)
@pytest.mark.slow_cases(
    "the other routines",
    "the first-put_signal_work_group-16",
    "the first-sum_reduce_work_group-16",
    "the first-wait_until_work_group-16",
)
@pytest.mark.parametrize(("shape", "sync", "width"), CASES)
def test_a_part_of_the_group(shape, sync, width):
    """One report says how many work-items have reached a barrier, and the launch raises."""
    done = launch(SHAPES[shape].format(sync=SYNCS[sync]), width)
    count = r"\d+" if shape not in ("the first", "the last") else "1"
    report = rf"kernel (?:__main__\.)?wrong: {count} of the {width} work-items of a group have reached"
    found = re.findall(report, done.stderr)
    assert len(found) == 1, done.stderr
    assert "back" not in done.stdout and "LevelZeroError" in done.stderr, done
    place = re.search(r"group that its kernels have begun: kernel wrong, program.py:\d+: (\w+)", done.stderr)
    assert (place[1] if place else "group_barrier") == sync, done.stderr


@pytest.mark.parametrize("vectorise", ["auto", "0"])
def test_how_many(vectorise):
    """The report has the number of work-items that have reached the barrier."""
    done = launch("if me in (3, 7):\n    kapi.group_barrier(group)\na[me] = 1", 16, ISHMEM_SIM_VECTORISE=vectorise)
    wanted = "2 of the 16 work-items of a group have reached a barrier of the group that the others have not reached"
    assert wanted in done.stderr, done.stderr


RIGHT = """
for i in range(3):
    kapi.group_barrier(group)
    if me % 2:
        a[me] += 1
        continue
    b[me] += 1
if pe == 1:
    kapi.group_barrier(group)
else:
    a[me] += 1
    kapi.group_barrier(group)
    kapi.group_barrier(group)
for i in range(2):
    ishmem.put_work_group(b[8:], a[8:], pe, group, 2)
    if a[0] == 1 and b[0] == 3:
        return
ishmem.barrier_all_work_group(group)
"""


@pytest.mark.parametrize("vectorise", ["auto", "0"])
def test_all_of_the_group(vectorise):
    """Branches, loops and returns that all work-items take together are no error."""
    done = launch(RIGHT.strip(), 16, ISHMEM_SIM_VECTORISE=vectorise)
    assert done.returncode == 0 and "back" in done.stdout and "simulator" not in done.stderr, done
