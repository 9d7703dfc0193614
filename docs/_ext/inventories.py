"""Inventories for intersphinx, made from one text file, so that the site is built without a network."""

from __future__ import annotations

import zlib
from pathlib import Path

_HEADER = "# Sphinx inventory version 2\n# Project: {name}\n# Version: \n# The remainder is compressed using zlib.\n"


def mapping(listing: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """Write an inventory for each project of a listing and return ``intersphinx_mapping``.

    Args:
        listing: Lines ``[PROJECT] ADDRESS``, each followed by lines ``NAME ROLE PAGE#ANCHOR``.
        folder: Where the inventories are written.
    """
    found: dict[str, tuple[str, str]] = {}
    entries: dict[str, list[str]] = {}
    project = ""
    for line in listing.read_text().splitlines():
        if line.startswith("["):
            project, _, address = line[1:].partition("] ")
            found[project], entries[project] = (address, str(folder / f"{project}.inv")), []
        elif line and not line.startswith("#"):
            name, role, place = line.split()
            entries[project].append(f"{name} py:{role} 1 {place} -\n")
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in entries.items():
        body = zlib.compress("".join(lines).encode())
        Path(found[name][1]).write_bytes(_HEADER.format(name=name).encode() + body)
    return found
