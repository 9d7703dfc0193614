"""Facts about the processes of an MPI job: their nodes and cores, and whether MPI handles their device memory.

``mpiexec -n 2 python -m ishmem.cli.mpi_processes`` prints them as JSON on the first process.
"""

from __future__ import annotations

import functools
import json
import os
import socket
from typing import Any

from ishmem.environment import mpi_library, settings

MARK = "ISHMEM "
"""Prefix of the printed line."""


@functools.cache
def gather() -> list[dict[str, Any]]:
    """Return host, cores and GPU support of each process on the first process, [] on the others; collective.

    Raises:
        IshmemError: mpi4py cannot be used.
        ValueError: A setting of ishmem is none of those allowed.
    """
    from ishmem.runtime import network  # loads the driver, which the doctor has to examine first

    world = network.world()
    from mpi4py import MPI

    own = {
        "host": socket.gethostname(),
        "cpus": sorted(os.sched_getaffinity(0)),
        "cores": os.cpu_count(),
        "gpu": mpi_library.handles_device_memory(MPI, settings.load().mpi_device_memory, os.environ),
    }
    return world.gather(own) or []


if __name__ == "__main__":
    if found := gather():
        print(MARK + json.dumps(found))
