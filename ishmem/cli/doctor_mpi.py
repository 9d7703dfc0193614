"""Checks of ``ishmem doctor`` for jobs on several nodes: mpi4py, its MPI library, mpiexec, and the cores of PEs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from ishmem.cli import mpi_processes
from ishmem.cli.findings import Finding, Machine, last_line, ok, python, warning, without_choice, wrong
from ishmem.cli.mpi_processes import MARK
from ishmem.common.errors import IshmemError
from ishmem.environment import mpi_library, stack
from ishmem.environment.mpi_variables import launched
from ishmem.launch import mpiexec

_SECONDS = 30
_LIBRARY = """
import json, ishmem, dpctl
from mpi4py import MPI
maps = [line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps") if "/libmpi.so" in line]
print(json.dumps({"version": MPI.Get_library_version().strip(chr(0)).strip(), "path": (maps or [""])[0]}))
"""
_OFFLOAD = {
    "Intel MPI": "set I_MPI_OFFLOAD=1",
    "MPICH": "use the site's MPICH, built --with-ze, and MPIR_CVAR_ENABLE_GPU=1",
}


def check_mpi(machine: Machine) -> Iterator[Finding]:
    """Check that mpi4py loads its MPI library, that its transport loses no messages, and mpiexec; ok without mpi4py."""
    try:
        version = metadata.version("mpi4py")
    except metadata.PackageNotFoundError:
        yield ok("mpi4py is not installed; only jobs on several nodes need it (pip install 'ishmem4py[mpi]')")
        return
    done = python(_LIBRARY, {**without_choice(os.environ), "MPI4PY_RC_INITIALIZE": "0"})
    if done.returncode:
        yield warning(f"mpi4py does not load: {last_line(done)}", "load the site's MPI module, or pip install mpich")
        return
    library = json.loads(done.stdout.splitlines()[-1])
    name = mpi_library.name_of(library["version"])
    yield ok(f"mpi4py {version} loads beside the stack, with {name} of {library['path']}")
    yield judge_transport(machine, library["version"])
    yield from check_mpiexec(machine, library["version"])


def judge_transport(machine: Machine, version: str) -> Finding:
    """Return a finding on the transport of the MPI library of this version text: a warning if it loses messages."""
    transport = mpi_library.transport(version, machine.environ, machine.root)
    if transport.loses:
        return warning(f"{mpi_library.name_of(version)} uses {transport.words}", _instead_of_ucx(version))
    return ok(f"between nodes it uses {transport.words}")


def _instead_of_ucx(version: str) -> str:
    if mpi_library.kind_of(version) == "Open MPI":
        return "unset OMPI_MCA_pml, or set OMPI_MCA_pml=ob1"
    return "set MPIR_CVAR_CH4_NETMOD=ofi"


def check_mpiexec(machine: Machine, version: str) -> Iterator[Finding]:
    """Check that mpiexec fits mpi4py's library, of this version text, that it starts jobs, and how it pins them."""
    try:
        found = mpiexec.find(machine.environ.get("ISHMEM_MPIEXEC"))
    except IshmemError as error:
        yield warning(str(error).partition(";")[0], "load the site's MPI module, or set ISHMEM_MPIEXEC")
        return
    yield from _shadow(machine, found)
    library = mpi_library.kind_of(version)
    if found.kind not in (library, "PALS"):
        yield wrong(
            f"{found.path} is that of {found.kind}, but mpi4py loads {library}: every process would be a job of one PE",
            f"put the mpiexec of {library} first on the path, or set ISHMEM_MPIEXEC",
        )
        return
    yield ok(f"ishmem run --hosts starts PEs by {found.path}: {found.version}")
    if launched(machine.environ):
        processes = mpi_processes.gather()
    else:
        processes = yield from _started(found, machine.environ)
    if processes:
        yield from judge_pinning(processes)
        yield from judge_gpu_support(processes, library, machine.environ)


def _shadow(machine: Machine, found: mpiexec.Mpiexec) -> Iterator[Finding]:
    """Yield a warning if an MPI wheel in this environment takes precedence over an MPI installation of the site."""
    wheel = mpi_library.wheel()
    folders = [folder for folder in machine.environ.get("PATH", "").split(os.pathsep) if Path(folder).is_absolute()]
    of_site = [
        path
        for path in (machine.under(f"{folder}/mpiexec") for folder in folders)
        if os.access(path, os.X_OK) and not path.is_relative_to(sys.prefix)
    ]
    if wheel and of_site:
        yield warning(
            f"the package {wheel} shadows the site's MPI, of {of_site[0]}: mpi4py loads the package's library",
            f"pip uninstall {wheel}, so that mpi4py loads the site's, which knows its network and its GPUs",
        )


def is_first() -> bool:
    """Return whether this process checks the machine: under mpiexec only the first; collective under mpiexec."""
    return launched() is None or bool(mpi_processes.gather())


def _started(found: mpiexec.Mpiexec, environ: Mapping[str, str]) -> Generator[Finding, None, list[dict[str, Any]]]:
    """Start two processes by mpiexec on this machine; return facts about each, empty if that fails; yield findings."""
    command = [found.path, "-n", "2", sys.executable, "-m", "ishmem.cli.mpi_processes"]
    env = {**mpi_library.transport_default(), **environ}
    try:
        done = subprocess.run(
            command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield warning(f"{found.path} starts no processes here: {error}", "nothing on a login node; else try it")
        return []
    lines = [line.partition(MARK)[2] for line in done.stdout.splitlines() if MARK in line]
    if done.returncode or len(lines) != 1:
        yield wrong(
            f"{found.path} -n 2 starts no job of 2 processes: "
            + (f"{len(lines)} jobs of one" if lines else last_line(done)),
            "use the mpiexec of mpi4py's MPI library; OMPI_ALLOW_RUN_AS_ROOT=1 where root runs Open MPI",
        )
        return []
    processes: list[dict[str, Any]] = json.loads(lines[0])
    yield ok(f"{found.path} -n 2 starts a job of {len(processes)} processes")
    return processes


def judge_pinning(processes: list[dict[str, Any]]) -> Iterator[Finding]:
    """Yield a warning if several of the processes, facts by `mpi_processes`, are pinned to one core; else an ok."""
    cores = Counter((process["host"], tuple(process["cpus"])) for process in processes)
    most = max(process["cores"] for process in processes)
    for (host, cpus), count in cores.items():
        if count > len(cpus) == 1 < most:
            yield warning(
                f"mpiexec pins {count} processes of {host} to core {cpus[0]}",
                "turn pinning off: I_MPI_PIN=0, --bind-to none (Open MPI), --cpu-bind none (PALS, Slurm)",
            )
            return
    yield ok("mpiexec pins no two processes to one core")


def judge_gpu_support(processes: list[dict[str, Any]], kind: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield a finding on device memory in MPI library ``kind``: without support a warning, if devices are real."""
    try:
        simulated = stack.choose() == "sim"
    except (IshmemError, ValueError):
        return
    direct = all(process["gpu"] for process in processes)
    text = f"payloads between nodes above 8 KiB go {mpi_library.payloads(direct)}"
    if direct:
        yield ok(text)
    elif environ.get("ISHMEM_MPI_DEVICE_MEMORY", "").lower() == "off":
        yield warning(f"ISHMEM_MPI_DEVICE_MEMORY=off: {text}", "unset it if MPI handles Level Zero memory")
    elif not simulated:
        yield warning(
            f"{kind} does not handle Level Zero memory: {text}",
            _OFFLOAD.get(kind, "use an MPI that does, or nothing: only long payloads are slower"),
        )
