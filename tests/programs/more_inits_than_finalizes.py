"""Calls init twice, and finalize once."""

import ishmem

ishmem.init()
ishmem.init()
ishmem.finalize()
assert ishmem.is_initialized()
print("good")
