"""Creates a context with a flag that is not allowed."""

import ctypes

from ishmem.common.errors import LevelZeroError
from ishmem.ipc import pyze

try:
    desc = pyze.ze_context_desc_t(flags=1 << 10)
    print(pyze._handle("zeContextCreate", pyze.drivers()[0], ctypes.byref(desc)) > 0)
except LevelZeroError as error:
    print(error.result)
