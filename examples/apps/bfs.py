"""Breadth-first search on a Kronecker graph (Graph500): the frontier travels by alltoallv or by atomics in kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps import kronecker
from ishmem.examples.apps.frame import App, Blocks, Run, launch, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXCHANGES = ("alltoallv", "atomics")
PAIR = 2  # a vertex at its PE, and its parent


@dpex.kernel
def expand(item: kapi.Item, frontier, starts, ends_of, block, first, parents, fill, following, side):
    """Claim the neighbours of a vertex of the frontier on their PEs, and append them to the frontiers there.

    ``fill[side]`` counts the vertices of a PE's next frontier, ``following``; a PE owns ``block`` vertices.
    """
    vertex = frontier[item.get_id(0)]
    for k in range(starts[vertex], starts[vertex + 1]):
        pe, place = ends_of[k] // block, ends_of[k] % block
        unknown = ishmem.atomic_fetch(parents, pe, place) < 0
        if unknown and ishmem.atomic_compare_swap(parents, -1, first + vertex, pe, place) < 0:
            slot = ishmem.atomic_fetch_add(fill, 1, pe, side)
            ishmem.p(following, place, pe, slot)


@dpex.kernel
def count(item: kapi.Item, frontier, starts, ends_of, block, counts):
    """Count, in ``counts``, the neighbours of a vertex of the frontier on each PE, which owns ``block`` vertices."""
    vertex = frontier[item.get_id(0)]
    for k in range(starts[vertex], starts[vertex + 1]):
        kapi.AtomicRef(counts, ends_of[k] // block, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)


@dpex.kernel
def collect(item: kapi.Item, frontier, starts, ends_of, block, first, ends, pairs):
    """Write the neighbours of a vertex into the blocks of their PEs in ``pairs``, which end at ``ends`` so far."""
    vertex = frontier[item.get_id(0)]
    for k in range(starts[vertex], starts[vertex + 1]):
        pe = ends_of[k] // block
        place = kapi.AtomicRef(ends, pe, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)
        pairs[2 * place] = ends_of[k] % block
        pairs[2 * place + 1] = first + vertex


@dpex.kernel
def claim(item: kapi.Item, pairs, parents, fill, following, side):
    """Give a vertex its parent and append it to the frontier ``following`` of ``fill[side]``, unless it has one."""
    vertex, parent = pairs[2 * item.get_id(0)], pairs[2 * item.get_id(0) + 1]
    own = kapi.AtomicRef(parents, vertex, memory_scope=kapi.MemoryScope.DEVICE)
    # Parents that come at the same time are all of the same level: the last may stay.
    if own.load() < 0 and own.exchange(parent) < 0:
        following[kapi.AtomicRef(fill, side, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)] = vertex


@dataclass(frozen=True)
class Bfs(App):
    """Breadth-first search on a Kronecker graph (Graph500): each PE owns a block of the vertices.

    In each level, kernels sort the neighbours of the frontier by PE with atomic additions, ``alltoallv`` exchanges them
    with their parents, and kernels claim those not yet found. With ``--exchange atomics`` a kernel claims them on their
    PEs by ``atomic_compare_swap`` and appends them to the frontiers there by ``atomic_fetch_add`` and ``p``.
    """

    scale: int = option(13, "logarithm of the number of vertices")
    edges: int = option(16, "edges for each vertex")
    searches: int = option(4, "searches, from different roots")
    exchange: str = option("alltoallv", "how the frontier travels: alltoallv, or atomics in a kernel", EXCHANGES)

    name = "bfs"
    title = "Breadth-first search (Graph500)"

    @classmethod
    def small(cls) -> list[App]:
        return [cls(scale=7, edges=5, searches=2, exchange=exchange) for exchange in EXCHANGES]

    @classmethod
    def scaled(cls, n: int) -> Bfs:
        return cls(scale=13 + n.bit_length() - 1, searches=2)

    def graph(self) -> Any:
        """Return the graph, without directions and loops, in scipy's CSR format."""
        return kronecker.make(self.scale, self.edges)

    def roots(self, graph: Any) -> list[int]:
        """Return `searches` vertices that have neighbours in the graph, the same on all PEs."""
        found = np.flatnonzero(np.diff(graph.indptr))
        return [int(root) for root in np.random.default_rng(3).choice(found, self.searches, replace=False)]

    def capacity(self, graph: Any, blocks: Blocks) -> int:
        """Return how many edges a PE has at most: it sends and receives a pair for each, at most."""
        bounds = [min(pe * blocks.size, 1 << self.scale) for pe in range(len(blocks.counts) + 1)]
        return max(int(np.diff(graph.indptr[bounds]).max()), 1)

    def search(self, run: Run, root: int, first: int, arrays: list[Any], step: Any, add: Any) -> Any:
        """Search from a root; return the parents of this PE's vertices, ``first`` and following, -1 if not found."""
        parents, fronts, fill = arrays
        parents[...], fill[...] = -1, 0
        if 0 <= root - first < parents.size:
            parents[root - first], fronts[0, 0], fill[0] = root, root - first, 1
        with run.communication():
            run.barrier()
        level, size, left = 0, int(fill[0]), 1
        while left:
            step(level, size)
            size, fill[level % 2] = int(fill[1 - level % 2]), 0
            with run.communication():
                left = add(size)
            level += 1
        return parents.asnumpy()

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        graph, blocks = self.graph(), Blocks(1 << self.scale, run.n_pes)
        mine, first = graph[blocks.part(run.pe)], run.pe * blocks.size
        edges = [dpnp.asarray(each.astype("i8")) for each in (mine.indptr, mine.indices)]
        zeros, capacity = dpnp.zeros if run.comm else ishmem.zeros, PAIR * self.capacity(graph, blocks)
        arrays = [zeros(shape, dtype="i8") for shape in (blocks.size, (2, blocks.size), 2)]
        sent, due, total, pairs, received = (run.zeros(n, "i8") for n in (run.n_pes, run.n_pes, 1, capacity, capacity))
        counts, arrive, sum_of_all = (run.view(array) for array in (sent, due, total))
        parents, fronts, fill = arrays

        def exchange(level: int, size: int) -> None:
            counts[:] = 0
            launch(count, size, fronts[level % 2], *edges, blocks.size, sent)
            with run.communication():
                run.alltoall(due, sent)
            ends = dpnp.asarray(np.cumsum(counts) - counts)
            launch(collect, size, fronts[level % 2], *edges, blocks.size, first, ends, pairs)
            with run.communication():
                run.alltoallv(received, pairs, (PAIR * arrive).tolist(), (PAIR * counts).tolist())
            side = 1 - level % 2
            launch(claim, int(arrive.sum()), received, parents, fill, fronts[side], side)

        def put(level: int, size: int) -> None:
            side = 1 - level % 2
            with run.communication():
                launch(expand, size, fronts[1 - side], *edges, blocks.size, first, parents, fill, fronts[side], side)
                ishmem.barrier_all()

        def add(size: int) -> int:
            if run.comm:
                return int(run.comm.allreduce(size))
            sum_of_all[0] = size
            ishmem.sum_reduce(total, total)
            return int(sum_of_all[0])

        step = exchange if self.exchange == "alltoallv" or run.comm else put
        with run.timed():
            roots = run.steps(self.roots(graph), "searching")
            found = [self.search(run, root, first, arrays, step, add) for root in roots]
        answers: np.ndarray[Any, Any] = run.gathered(np.stack(found, axis=1), blocks.counts)
        return answers

    def check(self, result: np.ndarray[Any, Any]) -> str:
        from scipy.sparse import csgraph

        graph, reached = self.graph(), 0
        for root, parents in zip(self.roots(graph), result.T):
            levels = csgraph.dijkstra(graph, unweighted=True, indices=root)
            found = np.flatnonzero(parents >= 0)
            same = np.array_equal(found, np.flatnonzero(np.isfinite(levels)))
            require(same, "other vertices are reached than by scipy")
            require(parents[root] == root, "the root is not its own parent")
            others = found[found != root]
            require((levels[parents[others]] == levels[others] - 1).all(), "a parent is not in the level above")
            require((np.asarray(graph[parents[others], others]) == 1).all(), "a parent is no neighbour")
            reached += found.size
        return f"{self.searches} searches reach {reached} vertices, in the levels of scipy"

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        from scipy.sparse import csgraph

        graph, (left, right) = self.graph(), figure.subplots(1, 2)
        degrees = np.bincount(np.diff(graph.indptr))
        left.loglog(np.arange(degrees.size), degrees, ".", color="#0068b5")
        left.set(title=f"2^{self.scale} vertices, {graph.nnz // 2} edges", xlabel="neighbours", ylabel="vertices")
        for number, root in enumerate(self.roots(graph)):
            levels = csgraph.dijkstra(graph, unweighted=True, indices=root)
            sizes = np.bincount(levels[result[:, number] >= 0].astype(int))
            right.semilogy(sizes, marker="o", label=f"from vertex {root}")
        right.set(title=f"Vertices found in each level on {run.n_pes} PEs", xlabel="level", ylabel="vertices")
        right.legend(fontsize=8)
