"""Ends in the way of the argument; a handler, as that of ishmem, prints the status that it has seen."""

import atexit
import ctypes
import sys

from ishmem.runtime import exit_status

ENDS = {
    "exit": lambda: sys.exit(7),
    "end": lambda: None,
    "error": lambda: 1 / 0,
    "exit in C": lambda: ctypes.pythonapi.PyRun_SimpleString(b"import sys; sys.exit(7)"),
}

exit_status.watch()
handler = "atexit.register(lambda: print('seen', exit_status.of_program()))"
exec(handler, {"__name__": "ishmem.setup", "atexit": atexit, "exit_status": exit_status})
try:
    sys.exit(3)
except SystemExit as caught:
    assert caught.code == 3
ENDS[sys.argv[1]]()
