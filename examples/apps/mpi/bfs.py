"""Breadth-first search with mpi4py: MPI_Alltoallv of the frontier between the kernels of `ishmem.examples.apps.bfs`."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from ishmem.examples.apps.bfs import PAIR, Bfs, claim, collect, count
from ishmem.examples.apps.frame import Blocks, Run, launch, shared


def program(bfs: Bfs, run: Run) -> Any:
    """Run with mpi4py; return what ``Bfs.run`` returns, on PE 0."""
    graph, blocks = bfs.graph(), Blocks(1 << bfs.scale, run.n_pes)
    mine, first = graph[blocks.part(run.pe)], run.pe * blocks.size
    edges = [dpnp.asarray(each.astype("i8")) for each in (mine.indptr, mine.indices)]
    parents, fronts, fill = (dpnp.empty(shape, dtype="i8") for shape in (blocks.size, (2, blocks.size), 2))
    capacity = PAIR * bfs.capacity(graph, blocks)
    (pairs, pairs_view), (received, received_view) = shared(capacity, "i8"), shared(capacity, "i8")
    (sent, counts), due = shared(run.n_pes, "i8"), np.empty(run.n_pes, "i8")

    def exchange(level: int, size: int) -> None:
        counts[:] = 0
        launch(count, size, fronts[level % 2], *edges, blocks.size, sent)
        with run.communication():
            run.comm.Alltoall(counts, due)
        ends = dpnp.asarray(np.cumsum(counts) - counts)
        launch(collect, size, fronts[level % 2], *edges, blocks.size, first, ends, pairs)
        with run.communication():
            run.comm.Alltoallv((pairs_view, PAIR * counts), (received_view, PAIR * due))
        side = 1 - level % 2
        launch(claim, int(due.sum()), received, parents, fill, fronts[side], side)

    with run.timed():
        roots, arrays = bfs.roots(graph), (parents, fronts, fill)
        found = [bfs.search(run, root, first, arrays, exchange, run.comm.allreduce) for root in roots]
    whole = run.comm.gather(np.stack(found, axis=1)[: blocks.counts[run.pe]])
    return np.concatenate(whole) if whole else None
