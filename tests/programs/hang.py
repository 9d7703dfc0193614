"""Three PEs wait in different calls, in vain; each tells the error."""

import time

from victim import me, start

import ishmem


def hang(call, *args):
    try:
        call(*args)
    except ishmem.WaitTimeout as error:
        print("hang", "|".join(str(error).splitlines()), flush=True)
        raise SystemExit(5) from None


a, lock = start()
if me == 0:
    ishmem.set_lock(lock)
    hang(ishmem.barrier_all)
elif me == 1:
    hang(ishmem.wait_until_all, a, ishmem.CMP_NE, 0)
else:
    time.sleep(0.5)
    hang(ishmem.set_lock, lock)
