"""The MPI launcher that has started this process, found by its environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple


class _Variables(NamedTuple):
    """The variables of one launcher: rank and size in the world and on the node; '' where it sets none."""

    rank: str
    size: str
    local_rank: str
    local_size: str


_FAMILIES = (
    _Variables(
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    _Variables("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    _Variables("PALS_RANKID", "", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE"),
    _Variables("PMIX_RANK", "", "", ""),
    _Variables("SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)
"""Launchers, innermost first: where mpiexec starts its agents by srun, Slurm's variables are those of the agents."""

_RANK_OF = {"SLURM_STEP_ID": "SLURM_PROCID"}
"""The variable with the rank, where another one shows the launcher: a batch script has SLURM_PROCID too."""

_LOCAL_RANKS = ("MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID", "SLURM_LOCALID")
_LOCAL_SIZES = ("MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE")
_PREFIXES = ("OMPI_", "PMI_", "PMIX_", "PALS_", "MPI_LOCAL", "SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID")


class Launched(NamedTuple):
    """The place of this process in the job of an MPI launcher.

    Attributes:
        by: The variable that shows the launcher.
        rank: Rank of this process.
        size: Number of processes; None where the launcher does not set it.
        local_rank: Rank among the processes of the node; None where the launcher does not set it.
        local_size: Number of processes on the node; None where the launcher does not set it.
    """

    by: str
    rank: int | None
    size: int | None
    local_rank: int | None
    local_size: int | None

    @property
    def words(self) -> str:
        """Description for error messages."""
        size = "" if self.size is None else f" of {self.size}"
        return f"process {'?' if self.rank is None else self.rank}{size} of an MPI launcher ({self.by} is set)"


def launched(environ: Mapping[str, str] | None = None, single: bool = False) -> Launched | None:
    """Return the place of this process in the job of an MPI launcher, by ``environ``; None without a launcher.

    A launcher that started only one process counts as none, unless ``single``: ``srun -n 1 --pty bash`` is one.
    ``environ`` is by default ``os.environ``.
    """
    given = os.environ if environ is None else environ
    family = next((each for each in _FAMILIES if each.rank in given), None)
    if family is None:
        return None
    rank, size = _number(given, _RANK_OF.get(family.rank, family.rank)), _number(given, family.size)
    if family.rank in ("PMIX_RANK", "PALS_RANKID") and size is None:
        size = _number(given, "SLURM_STEP_NUM_TASKS")
    if size == 1 and not single:
        return None
    local_rank = _first(given, family.local_rank, *_LOCAL_RANKS)
    return Launched(family.rank, rank, size, local_rank, _first(given, family.local_size, *_LOCAL_SIZES))


def without(environ: Mapping[str, str]) -> dict[str, str]:
    """Return ``environ`` without the variables of MPI launchers, for a process that is no part of their job."""
    return {name: value for name, value in environ.items() if not name.startswith(_PREFIXES)}


def _first(given: Mapping[str, str], *names: str) -> int | None:
    return next((number for number in (_number(given, name) for name in names) if number is not None), None)


def _number(given: Mapping[str, str], name: str) -> int | None:
    text = given.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
