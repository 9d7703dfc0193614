"""ishmem: a SHMEM library for Intel GPUs in Python.

PGAS programming with numba-dpex: every PE owns a GPU and a symmetric heap in its memory, and reads, writes and
atomically updates the same arrays on every other PE, from the host and from inside kernels, by the same names.
"""

import lazy_loader

from .environment import stack

# Names are looked up in __init__.pyi and imported when first used, so that ishmrun starts quickly.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

stack.load_when_needed()
