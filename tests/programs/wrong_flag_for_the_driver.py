"""Creates a context with a flag that is not allowed."""

from ishmem.common.errors import LevelZeroError
from ishmem.ipc import pyze

try:
    print(pyze._handle("zeContextCreate", pyze.drivers()[0], pyze.ContextDesc(flags=1 << 10)) > 0)
except LevelZeroError as error:
    print(error.result)
