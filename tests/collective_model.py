"""A numpy model of every collective routine, and calls that are compared with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from common import pattern

import ishmem
from ishmem.common import algorithms
from ishmem.common.type_tables import REDUCTIONS
from ishmem.runtime import job

ROOTED = ("broadcast", "gather", "scatter", "gatherv", "scatterv")
COUNTED = ("gatherv", "scatterv", "alltoallv")
COMBINE = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "max": np.maximum,
    "min": np.minimum,
    "sum": np.add,
    "prod": np.multiply,
}


def algorithms_of(routine: str) -> list[str]:
    """Return the algorithms of a routine that differ on the nodes of this test."""
    one_node = job.current().network is None
    return [name for name in algorithms.allowed(routine) if not (one_node and name in ("levels", "rounds"))]


def in_levels(algorithm: str) -> bool:
    """Return whether a reduction by this algorithm has two levels on the nodes of this job."""
    return job.current().network is not None and algorithm != "mapped"


def force(algorithm: str) -> None:
    """Use one algorithm for every routine that has it."""
    algorithms.install(algorithms.defaults(2**63), f"all={algorithm}")


def reset() -> None:
    """Use the default algorithms again."""
    algorithms.install(algorithms.defaults(2**63))


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
    routine: str, sources: list[np.ndarray], pes: Sequence[int] | None = None, in_order: bool = False
) -> np.ndarray:
    """Combine the sources of the PEs, or of all PEs, in two levels: those of each node, then the nodes.

    These are combined one after the other, as in kernels for large blocks, if ``in_order``; otherwise in pairs of
    neighbours.
    """
    network = job.current().network
    nodes = [network.nodes[pe] if network else 0 for pe in (range(len(sources)) if pes is None else pes)]
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
    steps = (2, 3) if routine == "alltoalls" else (1, 1)
    return to * count * steps[0], origin * count * steps[1]


def expected(routine: str, sources: list[np.ndarray], dest: np.ndarray, me: int, count: int, root: int) -> np.ndarray:
    """Return what ``dest`` of member ``me`` holds after a call."""
    n, out = len(sources), dest.copy()
    if routine in REDUCTIONS:
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
        taken = [source[: 3 * n * count : 3][me * count : (me + 1) * count] for source in sources]
        out[: 2 * n * count : 2] = np.concatenate(taken)
    elif routine == "scatter":
        out[:count] = sources[root][me * count : (me + 1) * count]
    else:
        fill_counted(routine, sources, out, me, count, root)
    return out


def fill_counted(routine: str, sources: list[np.ndarray], out: np.ndarray, me: int, count: int, root: int) -> None:
    n, table = len(sources), counts_of(len(sources), count)
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


def contribution(count: int, member: int) -> int:
    """Return how many elements a member contributes to ``collect``."""
    return (count + member) % (count + 1)


def call(routine: str, dest: Any, source: Any, team: Any, count: int, root: int) -> None:
    """Call a routine for blocks of ``count`` elements."""
    function, me, n = getattr(ishmem, routine), team.my_pe(), team.n_pes()
    table = counts_of(n, count)
    if routine == "alltoallv":
        to, at = places_of(table[:, me]), places_of(table[me])
        function(dest, source, table[:, me], table[me], to, at, team)
    elif routine in COUNTED:
        function(dest, source, list(table[0]), root, places_of(table[0]), team=team)
    elif routine == "alltoalls":
        function(dest, source, 2, 3, count, team=team)
    elif routine in ROOTED:
        function(dest, source, root, team, nelems=count)
    else:
        function(dest, source, team, nelems=contribution(count, me) if routine == "collect" else count)


def read(array: Any) -> np.ndarray:
    """Return a symmetric array's own elements."""
    out = np.empty(array.shape, array.dtype)
    ishmem.get(out, array, ishmem.my_pe())
    return out


def compare(
    routine: str,
    dest: Any,
    source: Any,
    team: Any,
    count: int,
    root: int = 0,
    seed: int = 0,
    close: bool = False,
    atol: float = 0.0,
) -> None:
    """Fill the arrays of this PE, call a routine and compare all of ``dest`` with the model."""
    me, n, dtype = team.my_pe(), team.n_pes(), source.dtype
    sources = [pattern(dtype, source.size, seed, j) for j in range(n)]
    before = pattern(dtype, dest.size, seed, 77)
    ishmem.put(source, sources[me], ishmem.my_pe())
    ishmem.put(dest, before, ishmem.my_pe())
    call(routine, dest, source, team, count, root)
    wanted, seen = expected(routine, sources, before, me, count, root), read(dest)
    about = f"{routine} {dtype} count={count} root={root} seed={seed} on {me} of {n}"
    if close:
        np.testing.assert_allclose(seen, wanted, rtol=1e-4, atol=atol, err_msg=about)
    else:
        np.testing.assert_array_equal(seen, wanted, err_msg=about)
    np.testing.assert_array_equal(read(source), sources[me], err_msg=about)


def arrays(routine: str, dtype: str, n: int, count: int, guard: int = 3) -> tuple[Any, Any]:
    """Allocate dest and source, larger than needed by some elements; collective over the world."""
    to, origin = sizes_of(routine, n, count)
    return ishmem.zeros(to + guard, dtype=dtype), ishmem.zeros(origin + guard, dtype=dtype)
