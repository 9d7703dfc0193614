"""Calls of collective routines that are compared with the model, by the algorithms that a test chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import collective_model as model
import numpy as np
from common import pattern, same

import ishmem
from ishmem.common import algorithms
from ishmem.runtime import job


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


def nodes_of(pes: Iterable[int] | None = None) -> list[int]:
    """Return the node of each of these PEs, or of all PEs of the job."""
    network = job.current().network
    return [network.nodes[pe] if network else 0 for pe in (range(ishmem.n_pes()) if pes is None else pes)]


def call(routine: str, dest: Any, source: Any, team: Any, count: int, root: int, form: str = "") -> None:
    """Call a form of a routine for blocks of ``count`` elements."""
    function, me, n = getattr(ishmem, routine + form), team.my_pe(), team.n_pes()
    table = model.counts_of(n, count)
    if routine == "alltoallv":
        to, at = model.places_of(table[:, me]), model.places_of(table[me])
        function(dest, source, table[:, me], table[me], to, at, team)
    elif routine in model.COUNTED:
        function(dest, source, list(table[0]), root, model.places_of(table[0]), team=team)
    elif routine == "alltoalls":
        function(dest, source, model.DST, model.SST, count, team=team)
    elif routine in model.ROOTED:
        function(dest, source, root, team, nelems=count)
    else:
        function(dest, source, team, nelems=model.contribution(count, me) if routine == "collect" else count)


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
    run: Callable[..., Any] = call,
) -> None:
    """Fill the arrays of this PE, call a routine and compare all of ``dest`` with the model."""
    me, n, dtype = team.my_pe(), team.n_pes(), source.dtype
    sources = [pattern(dtype, source.size, seed, j) for j in range(n)]
    before = pattern(dtype, dest.size, seed, 77)
    ishmem.put(source, sources[me], ishmem.my_pe())
    ishmem.put(dest, before, ishmem.my_pe())
    run(routine, dest, source, team, count, root)
    wanted, seen = model.expected(routine, sources, before, me, count, root), read(dest)
    about = f"{routine} {dtype} count={count} root={root} seed={seed} on {me} of {n}"
    if close:
        np.testing.assert_allclose(seen, wanted, rtol=1e-4, atol=atol, err_msg=about)
    else:
        same(seen, wanted, about)
    same(read(source), sources[me], about)


def arrays(routine: str, dtype: str, n: int, count: int, guard: int = 3) -> tuple[Any, Any]:
    """Allocate dest and source, larger than needed by some elements; collective over the world."""
    to, origin = model.sizes_of(routine, n, count)
    return ishmem.zeros(to + guard, dtype=dtype), ishmem.zeros(origin + guard, dtype=dtype)
