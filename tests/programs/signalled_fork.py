"""The PE on node1 sends SIGTERM to the process that stands for it before mpiexec."""

import os
import signal
import sys
import time
from pathlib import Path


def terminated(*_: object) -> None:
    Path(os.environ["ISHMEM_TESTED"], os.uname().nodename).touch()
    sys.exit(5)


signal.signal(signal.SIGTERM, terminated)
if os.uname().nodename == "node1":
    (standing,) = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"forked_pe.py\0" in path.read_bytes()
    ]
    os.kill(standing, signal.SIGTERM)
    time.sleep(60)
