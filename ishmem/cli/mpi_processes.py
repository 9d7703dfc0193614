"""Where the processes of an MPI job run, and whether MPI handles their device memory.

``mpiexec -n 2 python -m ishmem.cli.mpi_processes`` prints it as JSON on the first process.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import socket
from typing import Any

from ishmem.runtime import network

MARK = "ISHMEM "
"""What the printed line begins with."""


@functools.cache
def gather() -> list[dict[str, Any]]:
    """Return facts about each process, on the first one; elsewhere nothing. Collective.

    Raises:
        IshmemError: mpi4py cannot be used.
    """
    world = network.world()
    from mpi4py import MPI

    query = getattr(ctypes.CDLL(MPI.__file__), "MPIX_Query_ze_support", None)
    mine = {
        "host": socket.gethostname(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cores": os.cpu_count(),
        "gpu": bool(query and query()),
    }
    return world.gather(mine) or []


if __name__ == "__main__":
    if found := gather():
        print(MARK + json.dumps(found))
