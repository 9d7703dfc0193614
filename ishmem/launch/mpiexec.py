"""Finds the site's ``mpiexec``, detects its kind, and builds its command line."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ishmem.common.errors import IshmemError
from ishmem.environment.mpi_library import wheel

NAMES = ("mpiexec", "mpirun", "mpiexec.hydra")
_KINDS = (
    ("Intel MPI", r"Intel\(R\) MPI"),
    ("MPICH", r"HYDRA build details"),
    ("Open MPI", r"Open MPI|OpenRTE"),
    ("PALS", r"mpiexec version \d"),
)
_LISTS = {
    "PALS": (["--envall", "--cpu-bind", "none"], "--hosts", "--hosts", "--ppn"),
    "Intel MPI": ([], "-hosts", "-host", "-ppn"),
}
"""By kind: first options, option for a list of hosts, option for one host, option for the number of PEs on each."""

_SECONDS = 20

# Variables of the login session and of the launcher itself; Open MPI forwards only variables named by options.
_OF_SESSION = re.compile(
    r"(SSH_|XDG_SESSION|XDG_RUNTIME|DBUS_|PMIX_|PRTE_|OMPI_|SLURM_|PBS_|BASH_FUNC)|"
    r"(_|PWD|OLDPWD|SHLVL|HOSTNAME|TERM|DISPLAY|MAIL|LOGNAME|USER|HOME|SHELL)$"
)


class Mpiexec(NamedTuple):
    """An mpiexec: its path, its kind (Intel MPI, MPICH, Open MPI or PALS), and the version that it prints."""

    path: str
    kind: str
    version: str


class Place(NamedTuple):
    """A host and the number of PEs that run on it."""

    host: str
    pes: int


def find(asked: str | None = None) -> Mpiexec:
    """Return the mpiexec ``asked``, a path or name; by default that of the MPI wheel here, else the first on PATH.

    Raises:
        IshmemError: There is none, it does not start, or it is of an unknown kind; the message says what to install.
    """
    path = _path(asked)
    if path is None:
        what = f"ISHMEM_MPIEXEC={asked} is no program" if asked else f"there is no {', '.join(NAMES)} on the path"
        raise IshmemError(
            f"{what}; load the site's MPI module, install an MPI library (pip install mpich), or set ISHMEM_MPIEXEC to "
            "the path of an mpiexec"
        )
    text = _version(path)
    kind = next((kind for kind, pattern in _KINDS if re.search(pattern, text)), None)
    if kind is None:
        allowed = ", ".join(name for name, _pattern in _KINDS)
        said = (text.strip().splitlines() or ["nothing"])[0]
        raise IshmemError(
            f"{path} is of an unknown kind (--version says {said!r}); allowed: {allowed}; set ISHMEM_MPIEXEC to the "
            "path of another mpiexec"
        )
    return Mpiexec(path, kind, _first_line(kind, text))


def require_mpi4py() -> None:
    """Raise ``IshmemError``, with the commands that install it, if mpi4py is not installed."""
    if importlib.util.find_spec("mpi4py") is None:
        raise IshmemError(
            "jobs on several nodes need mpi4py, which is not installed: pip install 'ishmem4py[mpi]'; and an MPI "
            "library: the site's MPI module, or pip install mpich"
        )


def command(launcher: Mpiexec, places: Sequence[Place], program: Sequence[str]) -> list[str]:
    """Return the command by which ``launcher`` starts a program on hosts; PEs are numbered host by host.

    All kinds accept lists of hosts, but only some accept a number of PEs for each; for the others, different numbers
    need one part of the command line for each host.
    """
    n, hosts = sum(place.pes for place in places), [place.host for place in places]
    counted = ",".join(f"{place.host}:{place.pes}" for place in places)
    if launcher.kind == "MPICH":
        return [launcher.path, "-hosts", counted, "-n", str(n), *program]
    if launcher.kind == "Open MPI":
        passed = [word for name in _passed() for word in ("-x", name)]
        placed = ["--host", counted, "--map-by", "slot", "--bind-to", "none"]
        return [launcher.path, *placed, *passed, "-n", str(n), *program]
    first, many, one, ppn = _LISTS[launcher.kind]
    if len({place.pes for place in places}) == 1:
        return [launcher.path, *first, many, ",".join(hosts), ppn, str(places[0].pes), "-n", str(n), *program]
    words = [launcher.path]
    for place in places:
        words += [":"] * (len(words) > 1) + [*first, one, place.host, "-n", str(place.pes), *program]
    return words


def _passed() -> list[str]:
    return [name for name in os.environ if re.fullmatch(r"\w+", name) and not _OF_SESSION.match(name)]


def _path(asked: str | None) -> str | None:
    if asked:
        return shutil.which(asked)
    beside = Path(sys.executable).parent  # of a wheel, also where the environment is not activated
    folders = os.pathsep.join(filter(None, [str(beside) if wheel() else "", os.environ.get("PATH", "")]))
    return next(filter(None, (shutil.which(name, path=folders) for name in NAMES)), None)


def _version(path: str) -> str:
    try:
        done = subprocess.run(
            [path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IshmemError(f"{path} --version: {error}; set ISHMEM_MPIEXEC to the path of another mpiexec") from None
    return done.stdout + done.stderr


def _first_line(kind: str, text: str) -> str:
    if kind == "MPICH":
        found = re.search(r"Version:\s*(\S+)", text)
        return f"MPICH (Hydra) {found[1]}" if found else "MPICH (Hydra)"
    return text.strip().splitlines()[0]
