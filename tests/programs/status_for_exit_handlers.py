"""Ends in the way of the argument; a handler, as that of ishmem, prints the status that it has seen."""

import atexit
import ctypes
import sys

from ishmem.runtime import program_status

ENDS = {
    "exit": lambda: sys.exit(7),
    "end": lambda: None,
    "error": lambda: 1 / 0,
    "exit in C": lambda: ctypes.pythonapi.PyRun_SimpleString(b"import sys; sys.exit(7)"),
}

program_status.watch_status()
handler = "atexit.register(lambda: print('seen', program_status.status()))"
exec(handler, {"__name__": "ishmem.runtime.leave_job", "atexit": atexit, "program_status": program_status})
try:
    sys.exit(3)
except SystemExit as caught:
    assert caught.code == 3
ENDS[sys.argv[1]]()
