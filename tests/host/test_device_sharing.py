"""PEs that share a GPU that runs the kernels of one PE at a time: waits in kernels are refused."""

from __future__ import annotations

import os
from typing import Any

import pytest
from subprocesses import run_program

from ishmem.runtime import device_sharing

pytestmark = pytest.mark.skipif(os.environ.get("ISHMEM_DEVICE") == "gpu", reason="for the simulator only")

ONE = {"ISHMEM_SIM_ENGINES": "1", "ISHMEM_SYMMETRIC_SIZE": "4M"}

HEAD = """
import re, sys
import numpy as np
import dpnp
import ishmem
from ishmem import dpex
from numba.core.errors import NumbaError
from ishmem.dpex import kernel_api as kapi

ishmem.init()
me, n = ishmem.my_pe(), ishmem.n_pes()
a, b, s, = (ishmem.zeros(8, dtype=dtype) for dtype in ("i8", "i8", "u8"))

@dpex.kernel
def put(item: kapi.Item, a, b, s, pe):
    ishmem.put(a, b, pe)
    ishmem.atomic_add(a, 1, pe, 7)
    ishmem.put_signal(a, b, s, 1, ishmem.SIGNAL_SET, pe, 4)
    ishmem.quiet()
    b[7] = ishmem.test(a, ishmem.CMP_GE, 0)

def work():
    b[:4] = me + 1
    dpex.call_kernel(put, kapi.Range(1), a, b, s, (me + 1) % n)
    ishmem.barrier_all()
    before = (me - 1) % n
    assert (a.asnumpy()[:4] == before + 1).all() and s.asnumpy()[0] == 1 and b.asnumpy()[7] == 1
    ishmem.barrier_all()
"""

REFUSED = """
WAITS = {
    "wait_until": "(a, 1, 0)", "signal_wait_until": "(s, 1, 0)", "set_lock": "(a)",
    "wait_until_all": "(a, 1, 0)", "wait_until_any": "(a, 1, 0)", "wait_until_some": "(a, b, 1, 0)",
    "wait_until_all_vector": "(a, 1, b)", "wait_until_any_vector": "(a, 1, b)",
    "wait_until_some_vector": "(a, b, 1, b)",
    "sync_all": "()", "barrier_all": "()", "team_sync": "(0)", "broadcast": "(a, b, 0)", "fcollect": "(a, b)",
    "alltoall": "(a, b)", "alltoalls": "(a, b, 1, 1, 1)", "gather": "(a, b, 0)", "scatter": "(a, b, 0)",
    "gatherv": "(a, b, b, 0)", "scatterv": "(a, b, b, 0)", "alltoallv": "(a, b, b, b)",
    "collect": "(a, b)", "sum_reduce": "(a, b)", "max_reduce": "(a, b)", "sum_inscan": "(a, b)",
}

def kernel(name, arguments, grouped):
    names = {"ishmem": ishmem}
    group = ", item.get_group()" if grouped else ""
    call = arguments[:-1] + group + ")" if grouped else arguments
    exec(f"def body(item, a, b, s):\\n    ishmem.{name}{call.replace('(, ', '(')}\\n", names)
    return dpex.kernel(names["body"])

def refused(call):
    try:
        call()
    except (NumbaError, ishmem.IshmemError) as error:
        return str(error)
    return "not refused"

for name, arguments in WAITS.items():
    said = refused(lambda: dpex.call_kernel(kernel(name, arguments, False), kapi.Range(1), a, b, s))
    assert f"{name} in a kernel: PEs 0, 1 share one device" in said, (name, said)
for name, arguments in WAITS.items():
    if hasattr(ishmem, name + "_work_group"):
        space = kapi.NdRange((4,), (4,))
        said = refused(lambda: dpex.call_kernel(kernel(name + "_work_group", arguments, True), space, a, b, s))
        assert " in a kernel: PEs 0, 1 share one device" in said, (name, said)
for name, given in {"barrier_all": (), "sync_all": (), "team_sync": (ishmem.TEAM_WORLD,)}.items():
    said = refused(lambda: getattr(ishmem, name + "_on_queue")(*given))
    assert re.match(f"{name}_on_queue is a kernel: PEs 0, 1 share one device, .*ISHMEM_SHARED_DEVICE=allow", said), said

work()
ishmem.put_on_queue(a, b, 1 - me)
ishmem.put_signal_on_queue(a, b, s, 9, ishmem.SIGNAL_SET, 1 - me, index=1)
ishmem.wait_until_on_queue(s, ishmem.CMP_EQ, 9, index=1).wait()
ishmem.sum_reduce_on_queue(b, a).wait()
ishmem.barrier_all()
"""

END = """
ishmem.free_all()
ishmem.finalize()
print("right")
"""

WAITING = """
@dpex.kernel
def barrier(item: kapi.Item, a):
    ishmem.barrier_all()
    a[0] = ishmem.n_pes()

dpex.call_kernel(barrier, kapi.Range(1), a)
assert a.asnumpy()[0] == n
ishmem.barrier_all_on_queue().wait()
"""


def run(program: str, n: int = 2, **env: str) -> Any:
    return run_program(HEAD + program + END, n, env={**ONE, **env}, sim=1)


def check(done: Any, n: int = 2) -> None:
    assert sorted(done.stdout.splitlines()) == [f"[{pe}] right" for pe in range(n)], done
    assert done.returncode == 0, done


def test_every_wait_is_refused_and_all_else_works() -> None:
    check(run(REFUSED))


def test_a_kept_kernel_is_refused_too(tmp_path: Any) -> None:
    """A cached kernel of a job without sharing is refused here, and is still accepted there afterwards."""
    cache = {"ISHMEM_KERNEL_CACHE": str(tmp_path)}
    check(run(WAITING, ISHMEM_SIM_ENGINES="2", **cache))
    done = run(WAITING, **cache)
    assert done.returncode == 1 and "barrier_all in a kernel: PEs 0, 1 share one device" in done.stderr, done
    check(run(WAITING, ISHMEM_SHARED_DEVICE="allow", **cache))


def test_alone_on_a_device() -> None:
    done = run_program(HEAD + WAITING + END, 2, env=ONE, sim=2)
    check(done)


def test_the_message_names_the_pes_and_remedies() -> None:
    assert device_sharing.describe([0, 2], 2) == device_sharing.describe([3], 1) == ""
    words = device_sharing.describe([0, 2, 3], 2)
    assert words.startswith("PEs 0, 2, 3 share one device, which runs kernels of 2 of them concurrently, so a kernel")
    for advice in ("one PE for each device or tile", "ZEX_NUMBER_OF_CCS", "wait on the host", "ISHMEM_SHARED_DEVICE"):
        assert advice in words
