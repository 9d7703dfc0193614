"""How each collective routine of the host moves its data: which algorithm, from which size of a message on.

A `Table` says it for every routine; a size is that of a block, in bytes: what one PE contributes, or gets from one.

==========  =============================================================================================
slot        the data travel with the call, in the ring of each PE; small messages only
mapped      all PEs share the copies between the mapped arrays, or the elements that are to be combined
tree        along a binomial tree of the PEs
engine      Level Zero copies; reductions are combined by numpy
kernel      reductions only: combined on the device
==========  =============================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ishmem import _core
from ishmem.common.sizes import parse_size
from ishmem.common.type_tables import COLLECTIVES, REDUCTIONS

ALGORITHMS = ("slot", "mapped", "tree", "engine", "kernel")
"""In the order of ``Algorithm`` of ishmem/core/collectives.hpp."""

Table = dict[str, list[tuple[int, str]]]
"""For each routine, the algorithms with the sizes from which on they are used, ascending."""

SLOT_LIMIT = 4096
_WITHOUT_SLOT = ("alltoalls", "alltoallv", "gatherv", "scatterv")
_SCANS = ("sum_inscan", "sum_exscan")
_ENTRY = re.compile(r"(\w+)=(\w+)(?::(.+))?")


def allowed(routine: str) -> tuple[str, ...]:
    """Return the algorithms that a routine has."""
    reduces = routine in REDUCTIONS
    names = ["slot"] if routine not in _WITHOUT_SLOT else []
    names += ["mapped"]
    names += ["tree"] if routine == "broadcast" or (reduces and routine not in _SCANS) else []
    names += ["engine"]
    names += ["kernel"] if reduces and routine not in _SCANS else []
    return tuple(names)


def defaults(cutover: int) -> Table:
    """Return the table for a device from whose ``cutover`` on the copy engine copies, not the host."""
    table: Table = {}
    for routine in COLLECTIVES:
        names = allowed(routine)
        table[routine] = [(0, "slot"), (SLOT_LIMIT, "mapped")] if "slot" in names else [(0, "mapped")]
        if cutover < 2**62:
            table[routine].append((cutover, "kernel" if "kernel" in names else "engine"))
    return table


def parse(text: str) -> list[tuple[str, int, str]]:
    """Read ``routine=algorithm`` and ``routine=algorithm:size``, separated by commas; ``all`` is every routine.

    Raises:
        ValueError: Words that are not known, or an algorithm that the routine does not have.
    """
    entries = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _ENTRY.fullmatch(part)
        if not match:
            raise ValueError(f"{part!r} is not routine=algorithm or routine=algorithm:size")
        routine, algorithm, size = match.groups()
        if routine != "all" and routine not in COLLECTIVES:
            raise ValueError(f"{routine!r} is no collective routine; allowed are all, {', '.join(COLLECTIVES)}")
        names = ALGORITHMS if routine == "all" else allowed(routine)
        if algorithm not in names:
            raise ValueError(f"{routine} has no algorithm {algorithm!r}; allowed are {', '.join(names)}")
        routines = COLLECTIVES if routine == "all" else (routine,)
        start = 0 if size in (None, "0") else parse_size(size)
        entries += [(each, start, algorithm) for each in routines if algorithm in allowed(each)]
    return entries


def override(table: Mapping[str, list[tuple[int, str]]], text: str) -> Table:
    """Return a table in which what ``text`` names, as `parse` reads it, replaces what was from each size on."""
    result = {routine: list(entries) for routine, entries in table.items()}
    for routine, start, algorithm in sorted(parse(text), key=lambda entry: entry[1]):
        result[routine] = [entry for entry in result[routine] if entry[0] < start] + [(start, algorithm)]
    return result


def install(table: Mapping[str, Iterable[tuple[int, str]]], forced: str = "") -> None:
    """Use a table from now on; the same on every PE, and between collective calls.

    ``forced`` is text as `parse` reads it, which goes first.
    """
    complete = override({routine: sorted(entries) for routine, entries in table.items()}, forced)
    for number, routine in enumerate(COLLECTIVES):
        entries = [(start, ALGORITHMS.index(name)) for start, name in complete.get(routine, ())]
        _core.set_algorithms(number, entries)
