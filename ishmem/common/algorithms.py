"""Tables from which the core (`choose` in collectives.cpp) chooses the algorithm of a collective of the host.

In teams on one node, `levels` and `rounds` are `mapped`. In teams on several nodes, `tree` is `rounds`, and `engine`
and `kernel` are `levels`.

A `Table` maps each routine to algorithms and the sizes from which they apply. A block is the data, in bytes, that
one PE contributes, or receives from one PE. A host ring is memory in the heap by which hosts enter a collective.

==========  =============================================================================================
slot        the data travel with the call in each PE's host ring; small messages only, larger ones take rounds
mapped      all PEs share the copies between mapped arrays, or the elements to reduce
levels      as mapped, within each node and then between the nodes: data cross the network once per node
rounds      as levels, in few messages: blocks are not divided among the nodes, and two nodes exchange one message
tree        a binomial tree of the PEs
engine      Level Zero copies; numpy reduces
kernel      reductions only, by a device kernel
==========  =============================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ishmem import _core
from ishmem.common.collective_table import COLLECTIVES, Combines
from ishmem.common.shared_numbers import Algorithm
from ishmem.common.sizes import parse_size

ALGORITHMS = tuple(each.name.lower().rpartition("_")[2] for each in Algorithm if each is not Algorithm.REFUSAL)
"""The algorithms by their numbers in the core."""

Table = dict[str, list[tuple[int, str]]]
"""For each routine, ``(size, algorithm)``: the block size in bytes from which the algorithm applies, ascending."""

SLOT_LIMIT = 4096
DIVIDED_FROM = 128 << 10
"""Block size in bytes from which `levels` takes less time than `rounds` between some hundred nodes."""
_ENTRY = re.compile(r"(\w+)=(\w+)(?::(.+))?")


def allowed(routine: str) -> tuple[str, ...]:
    """Return the names of the algorithms that implement the collective routine of a name."""
    traits = COLLECTIVES[routine]
    reduces = traits.combines is Combines.REDUCTION
    has = {
        "slot": traits.is_plain,
        "mapped": True,
        "levels": traits.gives_all_the_same or traits.combines is Combines.SCAN,
        "rounds": reduces or routine in ("broadcast", "alltoall"),
        "tree": reduces or routine == "broadcast",
        "engine": True,
        "kernel": reduces,
    }
    return tuple(name for name, given in has.items() if given)


def defaults(cutover: int) -> Table:
    """Return the default table; from blocks of ``cutover`` bytes on, if below 2**62, `kernel` or `engine` applies."""
    table: Table = {}
    for routine in COLLECTIVES:
        names = allowed(routine)
        large = "levels" if "levels" in names else "mapped"
        if "rounds" in names and "levels" in names:
            table[routine] = [(0, "slot"), (SLOT_LIMIT, "rounds"), (DIVIDED_FROM, large)]
        else:
            table[routine] = [(0, "slot"), (SLOT_LIMIT, large)] if "slot" in names else [(0, large)]
        if cutover < 2**62:
            table[routine].append((cutover, "kernel" if "kernel" in names else "engine"))
    return table


def parse(text: str) -> list[tuple[str, int, str]]:
    """Parse ``routine=algorithm[:size]``, separated by commas, to (routine, size in bytes or 0, algorithm).

    The routine ``all`` stands for every routine that has the algorithm.

    Raises:
        ValueError: An unknown name, an algorithm that the routine does not have, or text that is no size.
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
    """Return ``table`` with the entries of ``text`` (see `parse`), each in place of those from its size on."""
    result = {routine: list(entries) for routine, entries in table.items()}
    for routine, start, algorithm in sorted(parse(text), key=lambda entry: entry[1]):
        result[routine] = [entry for entry in result[routine] if entry[0] < start] + [(start, algorithm)]
    return result


def are_flat(text: str) -> bool:
    """Return whether ``text``, as for `parse`, forces ``mapped`` at all sizes for the routines that have ``levels``."""
    table = override(defaults(2**62), text)
    return all(table[routine] == [(0, "mapped")] for routine in COLLECTIVES if "levels" in allowed(routine))


def install(table: Mapping[str, Iterable[tuple[int, str]]], forced: str = "") -> None:
    """Make the core choose by ``table``, with the entries of ``forced``, text for `parse`, as in `override`.

    All PEs call with the same table, between collective calls. A routine that is not in it gets no entries.
    """
    complete = override({routine: sorted(entries) for routine, entries in table.items()}, forced)
    for number, routine in enumerate(COLLECTIVES):
        entries = [(start, ALGORITHMS.index(name)) for start, name in complete.get(routine, ())]
        _core.set_algorithms(number, entries)
