"""PE 1 dies; waits in kernels of the others end, quiet raises, and kernels use the team of those that are left.

PE 2 holds the interpreter's lock while it waits for its kernel.
"""

import ctypes
import os
import signal
import time
from pathlib import Path

import dpctl

import ishmem
from ishmem import dpex


@dpex.kernel
def wait(item, flag):
    ishmem.wait_until(flag, ishmem.CMP_EQ, 1)


@dpex.kernel
def wait_for_all(item, flags):
    ishmem.wait_until_all(flags, ishmem.CMP_EQ, 1)


@dpex.kernel
def meet(item, team, out, one):
    ishmem.team_sync(team)
    out[0] = ishmem.team_translate_pe(team, 1, ishmem.TEAM_WORLD)
    out[1] = ishmem.team_translate_pe(ishmem.TEAM_WORLD, 3, team)
    ishmem.p(out, ishmem.team_my_pe(team), ishmem.team_translate_pe(team, 0, ishmem.TEAM_WORLD), 2 + ishmem.my_pe())
    ishmem.sum_reduce(one, one, team)


def call_with_lock(kernel, *arguments):
    """Call a kernel and wait for it in a call that keeps the interpreter's lock."""
    _, event = dpex.call_kernel_async(kernel, dpex.Range(1), (), *arguments)
    library = next(Path(dpctl.__file__).parent.glob("libDPCTLSyclInterface.so"))
    ctypes.PyDLL(str(library)).DPCTLEvent_Wait(ctypes.c_void_p(event.addressof_ref()))


with ishmem.init(heap_size="16M"):
    me = ishmem.my_pe()
    flags, out, one = ishmem.zeros(2, dtype="u8"), ishmem.zeros(6, dtype="i8"), ishmem.ones(1, dtype="i8")
    dpex.call_kernel(meet, dpex.Range(1), 0, out, one)
    assert int(one[0]) == 4
    ishmem.barrier_all()
    if me == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    waits = {0: (meet, 0, out, one), 2: (wait, flags[:1]), 3: (wait_for_all, flags)}
    kernel, *arguments = waits[me]
    if me == 2:
        call_with_lock(kernel, *arguments)
    else:
        dpex.call_kernel(kernel, dpex.Range(1), *arguments)
    try:
        ishmem.quiet()
        raise AssertionError("no PeerLost")
    except ishmem.PeerLost as error:
        assert error.pe == 1 and "a wait in a kernel" in str(error), error
    left = ishmem.shrink()
    one[:] = 1
    dpex.call_kernel(meet, dpex.Range(1), left, out, one)
    ishmem.quiet()
    left.sync()
    assert int(one[0]) == 3 and out.asnumpy()[:2].tolist() == [2, 2]
    assert me or out.asnumpy()[[2, 4, 5]].tolist() == [0, 1, 2]
    print("fine")
