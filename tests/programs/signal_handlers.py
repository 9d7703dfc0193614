"""Sets handlers of signals, runs a kernel, and sends itself the signals."""

import os
import signal
import time

import ishmem  # noqa: F401  # before the handlers

numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2]
for number in numbers:
    signal.signal(number, lambda number, _frame: print(signal.Signals(number).name))
import dpnp

from ishmem import dpex


@dpex.kernel
def fill(item, a):
    a[item.get_id(0)] = 7


a = dpnp.zeros(4, dtype="i8")
dpex.call_kernel(fill, dpex.Range(4), a)
assert a.asnumpy().tolist() == [7] * 4
for number in numbers * 2:
    os.kill(os.getpid(), number)
    time.sleep(0.01)
