"""Profiles that ``ishmem tune`` writes: algorithms of the collectives, and the size from which the copy engine copies.

A profile is a text file with a section for each device, number of PEs and number of nodes, if there are several:

    [Intel(R) Data Center GPU Max 1100, 4 PEs]
    put = mapped, engine:64K
    broadcast = slot, mapped:2K, tree:64K

    [Intel(R) Data Center GPU Max 1100, 8 PEs, 2 nodes]
    sum_reduce = slot, levels:2K

An entry is an algorithm and, after a colon, the block size from which it applies.
"""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from ishmem.common.algorithms import Table, allowed
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.sizes import format_size, parse_size

if TYPE_CHECKING:
    from ishmem.environment.settings import Settings

PUT = "put"
"""The entry for host copies: the size from which the copy engine copies."""
PUT_PRIVATE, GET_PRIVATE = "put_private", "get_private"
"""The entries for host copies from, and to, private device memory."""
COPIES = (PUT, PUT_PRIVATE, GET_PRIVATE)
ROUTES = ("mapped", "engine")


def default_path() -> Path:
    """Return the path that ``ishmem tune`` writes and ``init`` reads when ISHMEM_PROFILE is not set."""
    return platformdirs.user_config_path("ishmem") / "tune.ini"


def section(device: str, n_pes: int, n_nodes: int = 1) -> str:
    """Return the name of the section for a device, a number of PEs and a number of nodes."""
    return f"{device}, {n_pes} PEs" + (f", {n_nodes} nodes" if n_nodes > 1 else "")


def read(path: Path) -> dict[str, Table]:
    """Return the tables of the profile in a file, keyed by the names of its sections.

    Raises:
        ValueError: The file cannot be read, or has an unknown name; the message names file and section.
    """
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text("utf-8"), str(path))
        return {name: _table(parser[name]) for name in parser.sections()}
    except (configparser.Error, OSError, ValueError) as error:
        raise ValueError(f"{path}: {error}; write it anew with `ishmem tune`, or delete it") from None


def write(path: Path, tables: dict[str, Table]) -> None:
    """Write ``tables``, keyed by section, to a profile; keep the other sections of a file that exists.

    Raises:
        ValueError: The file that exists is damaged.
    """
    parser = configparser.ConfigParser(interpolation=None)
    for name, table in {**(read(path) if path.exists() else {}), **tables}.items():
        parser[name] = {routine: entries_text(entries) for routine, entries in table.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(".new")
    with made.open("w", encoding="utf-8") as file:
        file.write("# Measured by `ishmem tune`. The algorithms of each routine, each from a size of the block on.\n")
        parser.write(file)
    made.replace(path)


def find(settings: Settings, device: str, n_pes: int, n_nodes: int = 1) -> Table:
    """Return the table measured for a device by name with ``n_pes`` PEs, else the nearest number; empty without one.

    On several nodes, entries of collectives are those measured on as many nodes; those of host copies are of one node.

    Raises:
        ValueError: The profile is damaged, or ISHMEM_PROFILE names a file that is not there.
    """
    path = _file(settings.profile)
    if path is None:
        if settings.profile:
            raise ValueError(f"ISHMEM_PROFILE: got {settings.profile!r}, allowed: a file that `ishmem tune` wrote")
        return {}
    tables = read(path)
    found = _nearest(tables, device, n_pes, "")
    if n_nodes == 1:
        return found
    copies = {name: entries for name, entries in found.items() if name in COPIES}
    return {**copies, **_nearest(tables, device, n_pes, f", {n_nodes} nodes")}


def _nearest(tables: dict[str, Table], device: str, n_pes: int, nodes: str) -> Table:
    wanted = re.compile(rf"{re.escape(device)}, ([0-9]{{1,9}}) PEs{nodes}")
    counts = {int(match[1]): table for name, table in tables.items() if (match := wanted.fullmatch(name))}
    return counts[min(counts, key=lambda n: (abs(n - n_pes), n))] if counts else {}


def _file(asked: str | None) -> Path | None:
    try:
        path = Path(asked).expanduser() if asked else default_path()
        return path if path.is_file() else None
    except (OSError, RuntimeError):  # the path is too long, or has the home of no user
        return None


def entries_text(entries: list[tuple[int, str]]) -> str:
    """Return ``(size, algorithm)`` entries as text of a profile, for `read`."""
    return ", ".join(name + (f":{format_size(start)}" if start else "") for start, name in entries)


def _table(entries: configparser.SectionProxy) -> Table:
    return {routine: _entries(entries.name, routine, text) for routine, text in entries.items()}


def _entries(where: str, routine: str, text: str) -> list[tuple[int, str]]:
    if routine not in COPIES and routine not in COLLECTIVES:
        raise ValueError(f"[{where}]: {routine!r} is no collective routine, nor one of {', '.join(COPIES)}")
    names = ROUTES if routine in COPIES else allowed(routine)
    entries = []
    for part in text.split(","):
        name, _colon, size = part.strip().partition(":")
        if name not in names:
            raise ValueError(f"[{where}]: {routine} has no algorithm {name!r}; allowed are {', '.join(names)}")
        entries.append((parse_size(size) if size else 0, name))
    return sorted(entries)
