"""Prints that it is ready, and waits in vain."""

from victim import start

import ishmem

a, _ = start()
print("ready", flush=True)
ishmem.wait_until(a, ishmem.CMP_EQ, 9)
