"""Part of ``ishmem info`` about MPI: the library, and the nodes of a job started by mpiexec."""

from __future__ import annotations

import os
import socket
from importlib import util
from typing import Any

from ishmem.cli import info_devices
from ishmem.cli.info_devices import VisibleGpus
from ishmem.common.errors import IshmemError
from ishmem.environment import mpi_library, settings
from ishmem.environment.mpi_variables import launched
from ishmem.launch import mpiexec
from ishmem.runtime import network

FAR = "messages over MPI to the PE's engine, also from kernels; no ptr"
"""The route to a PE of another node."""


class NodesOfJob:
    """Nodes of a job of ``ishmem info`` that mpiexec has started; all methods are collective over its processes."""

    def __init__(self, override: str | None) -> None:
        """Determine the processes on this node; ``override`` is the setting ``ISHMEM_NODE``, or None."""
        self._comm = network.world()
        own = network.identity(override)
        self.pe = self._comm.Get_rank()
        self.pes = [pe for pe, identity in enumerate(self._comm.allgather(own)) if identity == own]

    def merge(self, about: dict[str, Any], seen: VisibleGpus) -> dict[str, Any] | None:
        """Return the facts about the job on PE 0: ``about``, devices of its node, nodes, routes; None on other PEs.

        Args:
            about: The facts that do not depend on devices.
            seen: The devices that are visible to this process; its own has the number of the process on the node.
        """
        own = seen.devices[self.pes.index(self.pe) % len(seen.devices)]
        parts = self._comm.allgather((seen, own))
        if self.pe != self.pes[0]:
            self._comm.gather(None)
            return None
        node = info_devices.with_hidden_links(info_devices.merge(parts[pe][0] for pe in self.pes))
        of_pes = [next(each for each in node.devices if each == parts[pe][1]) for pe in self.pes]
        on = [node.devices.index(device) for device in of_pes]
        here = {"host": socket.gethostname(), "PEs": self.pes, "devices": len(node.devices), "on": on}
        found = [each for each in self._comm.gather((here, info_devices.routes(of_pes))) or [] if each]
        if not found:
            return None
        return {
            **about,
            "devices": node.facts,
            "links": info_devices.links(node.devices),
            "heap": info_devices.heap(node.facts),
            "nodes": [each for each, _matrix in found],
            "routes": _routes(found, len(parts)),
        }


def _routes(found: list[tuple[dict[str, Any], list[list[str]]]], n_pes: int) -> list[list[str]]:
    """Return the routes between all PEs; ``found`` has a node and the routes between its PEs, for each node."""
    routes = [[FAR] * n_pes for _ in range(n_pes)]
    for node, matrix in found:
        for pe, row in zip(node["PEs"], matrix):
            for peer, route in zip(node["PEs"], row):
                routes[pe][peer] = route
    return routes


def library() -> dict[str, str]:
    """Return library, transport, payloads and mpiexec of jobs on several nodes, as texts; empty without mpi4py.

    Loads MPI, and initialises it only in a process started by mpiexec. If mpi4py does not load, ``library`` tells why.
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
    """Return the setting ``ISHMEM_MPI_DEVICE_MEMORY``, or its default if a setting is invalid."""
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
    """Import mpi4py, and prevent the initialisation of MPI unless mpiexec has started this process."""
    import mpi4py

    if launched() is None:
        mpi4py.rc.initialize = False
