"""Initialises, allocates and finalises."""

from victim import start

import ishmem

start()
ishmem.free_all()
ishmem.finalize()
print("fine")
