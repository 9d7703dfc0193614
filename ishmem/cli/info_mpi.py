"""The part of ``ishmem info`` about MPI: the library, and the nodes of a job where mpiexec has started it."""

from __future__ import annotations

import os
import socket
from importlib import util
from typing import Any

from ishmem.common.errors import IshmemError
from ishmem.environment import mpi_library, settings
from ishmem.environment.launcher import launched
from ishmem.launch import mpiexec
from ishmem.runtime import network

FAR = "messages over MPI to the PE's engine, also from kernels; no ptr"
"""The route to a PE of another node."""


class Nodes:
    """The nodes of a job that mpiexec has started, for its processes that run ``ishmem info``; collective."""

    def __init__(self, override: str | None) -> None:
        """Find which processes share a node; ``override`` is the setting ``ISHMEM_NODE``."""
        self._comm = network.world()
        mine = network.identity(override)
        self.pe = self._comm.Get_rank()
        self.pes = [pe for pe, identity in enumerate(self._comm.allgather(mine)) if identity == mine]

    def merge(self, facts: dict[str, Any]) -> dict[str, Any] | None:
        """Return the facts of PE 0 with the nodes and the routes of all PEs; None on the other PEs."""
        own = {"host": socket.gethostname(), "PEs": self.pes, "devices": len(facts["devices"])}
        first = self.pe == self.pes[0]
        parts = self._comm.gather((own, facts["routes"]) if first else None)
        if parts is None:
            return None
        found = [part for part in parts if part]
        routes = [[FAR] * len(parts) for _ in parts]
        for node, matrix in found:
            for pe, row in zip(node["PEs"], matrix):
                for peer, route in zip(node["PEs"], row):
                    routes[pe][peer] = route
        return {**facts, "nodes": [node for node, _matrix in found], "routes": routes}


def library() -> dict[str, str]:
    """Return what jobs on several nodes use: MPI library, transport and mpiexec; empty without mpi4py.

    Loads MPI, and initialises it only where mpiexec has started this process.
    """
    if util.find_spec("mpi4py") is None:
        return {}
    try:
        _load()
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        return {"library": f"mpi4py does not load: {error}"}
    version = MPI.Get_library_version().strip("\0 \n")
    direct = mpi_library.handles_device_memory(MPI, _setting(), os.environ)
    return {
        "library": mpi_library.name_of(version),
        "transport": mpi_library.transport(version, os.environ).words,
        "payloads": mpi_library.payloads(direct),
        "mpiexec": _mpiexec(),
    }


def _setting() -> str:
    """Return the setting about device memory; with a setting that is wrong, the default."""
    try:
        return settings.load().mpi_device_memory
    except ValueError:
        return "auto"


def _mpiexec() -> str:
    try:
        found = mpiexec.find(os.environ.get("ISHMEM_MPIEXEC"))
    except IshmemError as error:
        return f"none: {error}"
    return f"{found.path}, {found.version}"


def _load() -> None:
    """Load MPI; initialise it only where mpiexec has started this process."""
    import mpi4py

    if launched() is None:
        mpi4py.rc.initialize = False
