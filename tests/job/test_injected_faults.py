"""Faults injected by the simulator: errors on the PE that has them and on the other PE, and leftovers."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap

import pytest
import trials
from subprocesses import run_program

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")

SMALL = {"ISHMEM_SYMMETRIC_SIZE": "4M"}
LOST = "ZE_RESULT_ERROR_DEVICE_LOST"

HEAD = """
import os, time
import numpy as np
import ishmem

me = int(os.environ["ISHMEM_PE"])
big = np.arange(100_000, dtype="u1")

def told(call, times=1):
    try:
        for _ in range(times):
            call()
    except Exception as error:
        print("told", type(error).__module__, type(error).__name__, str(error).replace("\\n", "|"), flush=True)
        raise SystemExit(5 + me)
    raise SystemExit(9)
"""

INIT = """
ishmem.init()
a = ishmem.array(np.zeros(100_000, "u1"))
n = ishmem.array(np.zeros(4, "i8"))
ishmem.barrier_all()
"""


def run(victim: str, other: str, head: str = INIT, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a job of two PEs, of which PE 1 has the faults."""
    cases = f"if me == 1:\n{textwrap.indent(victim, '    ')}\nelse:\n{textwrap.indent(other, '    ')}\n"
    return run_program(HEAD + head + "\n" + cases, 2, env={**SMALL, **env})


def check(done: subprocess.CompletedProcess[str], victim: str, other: str) -> None:
    """Assert that both PEs raised errors with these patterns, and that the job has the status of one of them."""
    lines = sorted(line for line in done.stdout.splitlines() if "told" in line)
    assert len(lines) == 2, done
    for pe, (line, pattern) in enumerate(zip(lines, (other, victim))):
        assert re.match(rf"\[{pe}\] told {pattern}", line), done
    assert done.returncode in (5, 6), done
    assert "Traceback" not in done.stderr and "terminate" not in done.stderr, done


BOTH_IN_INIT = {
    "alloc": (
        r"ishmem.common.errors IshmemError the symmetric heap, \d+ bytes \(4194304 and \d+ of ishmem's own\), cannot "
        r"be allocated on .*USM allocation failed; lower ISHMEM_SYMMETRIC_SIZE or heap_size="
    ),
    "copy": rf"ishmem.common.errors LevelZeroError zeDeviceGetStatus failed: {LOST} .*; a kernel or copy failed"
    r".*; on Intel\(R\) Data Center GPU Max 1550 \(simulated\) at 0000:41:00\.0, driver 1\.6\.1$",
}  # fmt: skip


@pytest.mark.parametrize("fault", BOTH_IN_INIT)
def test_init(trial: trials.Trial, fault: str) -> None:
    """The PE raises the fault; the other PE names that PE and the same fault."""
    words = BOTH_IN_INIT[fault]
    done = run("told(ishmem.init)", "told(ishmem.init)", head="", ISHMEM_SIM_FAIL=f"{fault}:1@1")
    name, rest = words.split()[1], " ".join(words.split()[2:])
    check(done, words, rf"ishmem.common.errors IshmemError init failed; PE 1: {name}: {rest}")


ALLOCATE = """
import dpctl.memory
kept, raised = [], ""
try:
    for _ in range(20):
        kept.append(dpctl.memory.MemoryUSMDevice(16 << 20))
except Exception as error:
    raised = type(error).__name__
ishmem.put(a, big, 1 - me)
ishmem.barrier_all()
print(raised, (a.asnumpy() == big).all())
ishmem.free_all()
ishmem.finalize()
"""


def test_allocation_by_the_user(trial: trials.Trial) -> None:
    """A failed allocation by the user raises SYCL's exception; ishmem and the other PE continue."""
    done = run(ALLOCATE, ALLOCATE, ISHMEM_SIM_FAIL="alloc:12@1")
    assert sorted(done.stdout.splitlines()) == ["[0]  True", "[1] USMAllocationError True"], done
    assert done.returncode == 0, done


LOSS = rf"ishmem.common.errors LevelZeroError \w+ failed: {LOST} \(0x70000001\); a kernel or copy failed"
PEER_LOST = r"ishmem.common.errors PeerLost \w+ on PE 0: PE 1 is gone \((exited with status 6|it left after an error)\)"

KERNEL = """
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

@dpex.kernel
def touch(item: kapi.Item, n):
    n[0] = 1

def launch():
    for _ in range(20):
        dpex.call_kernel(touch, kapi.Range(1), n)

def try_launch():
    try:
        launch()
    except ishmem.LevelZeroError as error:
        assert "DEVICE_LOST" in str(error)
    else:
        assert dpex.HAS_NUMBA_DPEX
"""


def test_launch(trial: trials.Trial) -> None:
    """A kernel that fails is an error, of its launch or, with numba-dpex, of each of these calls afterwards."""
    twice = """
for call in (ishmem.quiet, ishmem.barrier_all):
    try:
        call()
    except ishmem.LevelZeroError as error:
        assert "DEVICE_LOST" in str(error)
    else:
        raise SystemExit("not told")
"""
    done = run(
        f"try_launch()\n{twice}\ntold(ishmem.finalize)", "ishmem.barrier_all()\ntold(ishmem.finalize)",
        head=KERNEL + INIT, ISHMEM_SIM_FAIL="launch:15@1", ISHMEM_LEAKS="ignore",
    )  # fmt: skip
    check(done, LOSS, PEER_LOST)


def test_launch_of_ishmems_own_kernels(trial: trials.Trial) -> None:
    """An atomic of the host that fails in its kernel raises and returns no value."""
    call = "told(lambda: ishmem.atomic_fetch_add(n, 1, 0), 20)"
    done = run(call, "told(ishmem.barrier_all)", ISHMEM_SIM_FAIL="launch:15@1", ISHMEM_HOST_ATOMICS="kernel")
    check(done, LOSS, PEER_LOST)


WAIT = "told(lambda: ishmem.wait_until(n, ishmem.CMP_EQ, 9))"
IN_ORDER = 'in_order = type(n.sycl_queue)(n.sycl_context, n.sycl_device, property="in_order")\n'
COPIES = {
    "put": "told(lambda: ishmem.put(a, big, 0), 30)",
    "get": "told(lambda: ishmem.get(big, a, 0), 30)",
    "put_nbi": "told(lambda: (ishmem.put_nbi(a, big, 0), ishmem.quiet()), 30)",
    "ctx": "c = ishmem.ctx_create(); told(lambda: (c.put_nbi(a, big, 0), c.quiet()), 30)",
    "put_on_queue": "told(lambda: ishmem.put_on_queue(a, big, 0).wait(), 30)",
    "wait_until_on_queue": "told(lambda: ishmem.wait_until_on_queue(n, ishmem.CMP_EQ, 0, in_order).wait(), 30)",
    "put_on_queue, finalize": "told(lambda: ([ishmem.put_on_queue(a, a, 0) for _ in range(20)], ishmem.finalize()))",
}


@pytest.mark.slow_cases("the other copies", "put_on_queue, finalize", "wait_until_on_queue")
@pytest.mark.parametrize("call", COPIES)
def test_copy(trial: trials.Trial, call: str) -> None:
    """The operation whose copy fails raises, and so do the waits of other PEs for this one."""
    done = run(
        COPIES[call], WAIT, INIT + IN_ORDER,
        ISHMEM_SIM_FAIL="copy:20@1", ISHMEM_COPY_CUTOVER="1", ISHMEM_LEAKS="ignore",
    )  # fmt: skip
    check(done, LOSS, PEER_LOST)


ALLOCATIONS = {
    "zeros": "ishmem.zeros(50)",
    "calloc": "ishmem.calloc(50, 8)",
    "realloc": "ishmem.realloc(ishmem.malloc(50), 100)",
}


@pytest.mark.slow_cases("the other allocations", "calloc")
@pytest.mark.parametrize("call", ALLOCATIONS)
def test_collective_allocation(trial: trials.Trial, call: str) -> None:
    """New memory is initialised, or both PEs raise."""
    step = f"told(lambda: {ALLOCATIONS[call]}, 50)"
    done = run(step, step, ISHMEM_SIM_FAIL="copy:20@1,launch:20@1")
    why = rf"the PEs disagree; .* PE 1: {call} refused: LevelZeroError: .*{LOST}"
    refused = rf"ishmem.common.errors SymmetryError {call}: {why}"
    check(done, LOSS, PEER_LOST if call == "realloc" else refused)


BARRIER_ON_QUEUE = "told(lambda: ([ishmem.barrier_all_on_queue() for _ in range(20)], ishmem.finalize()))"


def test_barrier_on_queue(trial: trials.Trial) -> None:
    """PE 0 has a kernel that waits for one of PE 1 that has never run."""
    done = run(BARRIER_ON_QUEUE, BARRIER_ON_QUEUE, ISHMEM_SIM_FAIL="launch:15@1", ISHMEM_LEAKS="ignore")
    check(done, LOSS, r"ishmem.common.errors PeerLost finalize on PE 0: PE 1 is gone")


USE = """
b, signal = ishmem.array(np.zeros(100_000, "u1")), ishmem.static("signal", 1, "u8")
ishmem.barrier_all()
for _ in range(3):
    dpex.call_kernel(touch, kapi.Range(1), n)
    ishmem.put(a, big, 1 - me)
    ishmem.quiet()
    ishmem.barrier_all()
    ishmem.put_on_queue(b, a, 1 - me)
    ishmem.put_signal_on_queue(b, a, signal, 1, ishmem.SIGNAL_SET, 1 - me)
    ishmem.barrier_all_on_queue().wait()
    back = np.empty_like(big)
    ishmem.get(back, b, 1 - me)
    assert (back == big).all() and (b.asnumpy() == big).all() and n.asnumpy()[0] == 1
    ishmem.barrier_all()
ishmem.free_all()
ishmem.finalize()
print("right")
"""


def test_slow_device(trial: trials.Trial) -> None:
    done = run(USE, USE, KERNEL + INIT, ISHMEM_SIM_SLOW="20000@1", ISHMEM_COPY_CUTOVER="1")
    assert sorted(done.stdout.splitlines()) == ["[0] right", "[1] right"], done
    assert (done.returncode, done.stderr) == (0, ""), done


@pytest.mark.slow("test_slow_device")
def test_device_that_is_too_slow(trial: trials.Trial) -> None:
    """ISHMEM_TIMEOUT says which PE is still at work, and in which line unless the machine is too busy to find out."""
    done = run(
        "for _ in range(40): ishmem.put(a, big, 0)", "told(ishmem.barrier_all)",
        ISHMEM_SIM_SLOW="150000@1", ISHMEM_TIMEOUT="4", ISHMEM_COPY_CUTOVER="1",
    )  # fmt: skip
    (line,) = [line for line in done.stdout.splitlines() if "told" in line]
    assert "WaitTimeout" in line and re.search(r"PE 1: (put or get, \S+program.py:\d+|does not answer)", line), done
