"""PE 1 is ended by SIGALRM in a kernel, or by SIGKILL while a kernel of PE 0 waits in vain."""

import signal
import sys
import time

from victim import VICTIM, end, me, start, told

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi


@dpex.kernel
def wait(item: kapi.Item, a, value):
    ishmem.wait_until(a, ishmem.CMP_EQ, value)


a, _ = start()
dpex.call_kernel(wait, kapi.Range(1), a, 0)
ishmem.barrier_all()
if me == VICTIM and sys.argv[1] == "SIGALRM":
    signal.setitimer(signal.ITIMER_REAL, 0.5)  # ends it in the kernel
    dpex.call_kernel(wait, kapi.Range(1), a, 9)
elif me == VICTIM:
    time.sleep(0.5)
    end()
elif me == 0 and sys.argv[1] == "SIGKILL":
    dpex.call_kernel(wait, kapi.Range(1), a, 9)  # kernel
told(ishmem.barrier_all)
