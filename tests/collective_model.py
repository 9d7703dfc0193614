"""A numpy model of every collective routine: what each member holds after a call. It imports nothing of ishmem."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import numpy as np

ROOTED = ("broadcast", "gather", "scatter", "gatherv", "scatterv")
COUNTED = ("gatherv", "scatterv", "alltoallv")
DST, SST = 2, 3
"""The strides of dest and source of ``alltoalls``."""

COMBINE = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "sum": np.add,
    "prod": np.multiply,
}


def combined(routine: str, sources: list[np.ndarray], me: int) -> np.ndarray:
    """Combine the sources in the order of the PEs."""
    taken = {"sum_inscan": sources[: me + 1], "sum_exscan": sources[:me]}.get(routine, sources)
    if not taken:
        return np.zeros_like(sources[0])
    total = taken[0]
    with np.errstate(all="ignore"):
        for source in taken[1:]:
            total = COMBINE[routine.split("_")[0]](total, source)
    return total


def combined_by_nodes(
    routine: str, sources: list[np.ndarray], nodes: Sequence[int], in_order: bool = False
) -> np.ndarray:
    """Combine the sources in two levels: those of each node, then the nodes; ``nodes`` has the node of each source.

    The nodes are combined one after the other, as in kernels for large blocks, if ``in_order``; otherwise in pairs of
    neighbours.
    """
    groups = [[source for source, each in zip(sources, nodes) if each == node] for node in dict.fromkeys(nodes)]
    sums = [combined(routine, group, 0) for group in groups]
    if in_order:
        return combined(routine, sums, 0)
    joined = len(sums) - (1 << len(sums).bit_length() - 1)
    sums = [combined(routine, sums[2 * i : 2 * i + 2], 0) for i in range(joined)] + sums[2 * joined :]
    while len(sums) > 1:
        sums = [combined(routine, sums[i : i + 2], 0) for i in range(0, len(sums), 2)]
    return sums[0]


def counts_of(n: int, count: int) -> np.ndarray:
    """Return how many elements member i sends to member j."""
    return np.array([[(3 * i + 5 * j + count) % (count + 1) for j in range(n)] for i in range(n)])


def places_of(counts: np.ndarray) -> np.ndarray:
    """Return the displacements of consecutive blocks of these sizes, with gaps of one element."""
    return np.concatenate([[0], np.cumsum(counts + 1)[:-1]])


def sizes_of(routine: str, n: int, count: int) -> tuple[int, int]:
    """Return how many elements of dest and source a call uses."""
    if routine in COUNTED:
        return n * (count + 1), n * (count + 1)
    to = n if routine in ("fcollect", "collect", "alltoall", "alltoalls", "gather") else 1
    origin = n if routine in ("alltoall", "alltoalls", "scatter") else 1
    steps = (DST, SST) if routine == "alltoalls" else (1, 1)
    return to * count * steps[0], origin * count * steps[1]


def contribution(count: int, member: int) -> int:
    """Return how many elements a member contributes to ``collect``."""
    return (count + member) % (count + 1)


def expected(
    routine: str,
    sources: list[np.ndarray],
    dest: np.ndarray,
    me: int,
    count: int,
    root: int,
    contribution: Callable[[int, int], int] = contribution,
) -> np.ndarray:
    """Return what ``dest`` of member ``me`` holds after a call."""
    n, out = len(sources), dest.copy()
    if routine.split("_")[0] in COMBINE:
        out[:count] = combined(routine, [source[:count] for source in sources], me)
    elif routine == "broadcast":
        out[:count] = sources[root][:count]
    elif routine == "fcollect" or (routine == "gather" and me == root):
        out[: n * count] = np.concatenate([source[:count] for source in sources])
    elif routine == "collect":
        parts = np.concatenate([source[: contribution(count, j)] for j, source in enumerate(sources)])
        out[: parts.size] = parts
    elif routine == "alltoall":
        out[: n * count] = np.concatenate([source[me * count : (me + 1) * count] for source in sources])
    elif routine == "alltoalls":
        taken = [source[: SST * n * count : SST][me * count : (me + 1) * count] for source in sources]
        out[: DST * n * count : DST] = np.concatenate(taken)
    elif routine == "scatter":
        out[:count] = sources[root][me * count : (me + 1) * count]
    else:
        return expected_counted(routine, sources, dest, me, root, counts_of(n, count))
    return out


def expected_counted(
    routine: str,
    sources: list[np.ndarray],
    dest: np.ndarray,
    me: int,
    root: int,
    table: np.ndarray,
    places_of: Callable[[np.ndarray], np.ndarray] = places_of,
) -> np.ndarray:
    """Return what ``dest`` holds after a call where member i sends ``table[i, j]`` elements to member j.

    Routines with a root send, or get, as many as member 0 sends. ``places_of`` returns the displacements of blocks.
    """
    n, out = len(sources), dest.copy()
    if routine == "scatterv":
        at = places_of(table[0])[me]
        out[: table[0][me]] = sources[root][at : at + table[0][me]]
    elif routine == "alltoallv":
        for j in range(n):
            to, at, size = places_of(table[:, me])[j], places_of(table[j])[me], table[j, me]
            out[to : to + size] = sources[j][at : at + size]
    elif me == root:
        for j in range(n):
            at, size = places_of(table[0])[j], table[0][j]
            out[at : at + size] = sources[j][:size]
    return out
