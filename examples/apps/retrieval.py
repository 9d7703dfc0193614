"""Image retrieval by colour auto-correlograms (GSHMEM): groups take pictures from a counter that all PEs share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps import correlogram, photographs
from ishmem.examples.apps.correlogram import COLOURS, FEATURES, GROUP, LINES, correlate, quantise
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = 4  # of `describe`; each works on one picture at a time
BEST = 10


@dpex.kernel
def describe(item: kapi.NdItem, counter, taken, pictures, pixels, colours, counts, own, features, block, end, pe, size):
    """Take pictures from the counter on ``pe`` until ``end``; compute each one's features and put them to its PE."""
    group, item_id = item.get_group(), item.get_local_id(0)
    g = item.get_group().get_group_id(0)
    number = 0
    while number < end:
        if item_id == 0:
            taken[g] = ishmem.atomic_fetch_add(counter, 1, pe)
        kapi.group_barrier(group)
        number = taken[g]
        if number < end:
            owner, place = number // block, number % block
            ishmem.get_work_group(pixels[g], pictures[place], owner, group)
            quantise(item_id, pixels[g], colours[g])
            correlate(group, item_id, colours[g], size, counts[g], own[g])
            ishmem.put_work_group(features[place], own[g], owner, group)


@dpex.device_func
def compare(item_id, query, features, distances):
    """Write the distance of each picture of this PE to a query, by `GROUP` work-items."""
    for i in range(item_id, distances.size, GROUP):
        total = 0.0
        for k in range(FEATURES):
            total += abs(query[k] - features[i, k]) / (1 + query[k] + features[i, k])
        distances[i] = total


@dpex.kernel
def match(item: kapi.NdItem, features, wanted, distances, block, apart):
    """Compare this PE's pictures to a query, a group per query; get the query's features from the PE that owns it.

    A PE owns ``block`` pictures, the first ones are the queries. Without ``apart`` it takes features of its own
    instead.
    """
    group, q = item.get_group(), item.get_group().get_group_id(0)
    owner = q // block if apart else ishmem.my_pe()
    ishmem.get_work_group(wanted[q], features[q % block], owner, group)
    compare(item.get_local_id(0), wanted[q], features, distances[q])


def nearest(distances: np.ndarray[Any, Any], first: int) -> np.ndarray[Any, Any]:
    """Return the `BEST` pictures of this PE for each query, without itself: distance and number, inf if too few.

    ``first`` is the number of this PE's first picture; distances of queries to themselves are set to inf.
    """
    found = np.full((len(distances), BEST, 2), np.inf)
    itself = range(first, min(first + distances.shape[1], len(distances)))
    distances[itself, np.arange(len(itself))] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, :BEST]
    found[:, : order.shape[1], 0] = np.take_along_axis(distances, order, axis=1)
    found[:, : order.shape[1], 1] = first + order
    return found


def merged(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the `BEST` of what all PEs have found, by query, as pairs of distance and number of the picture."""
    pairs = np.concatenate(list(found), axis=1)
    order = np.argsort(pairs[..., 0], axis=1, kind="stable")[:, :BEST]
    return np.asarray(np.take_along_axis(pairs, order[..., None], axis=1))


def several(groups: int) -> kapi.NdRange:
    """Return the range of a kernel with ``groups`` work-groups."""
    return kapi.NdRange((groups * GROUP,), (GROUP,))


@dataclass(frozen=True)
class Retrieval(App):
    """Image retrieval (GSHMEM): finds the pictures that are most similar to a query, by colour auto-correlograms.

    Each PE has a block of the pictures. Groups of all PEs take pictures from one counter by ``atomic_fetch_add``, get
    them, compute their correlograms and put these to the PEs that have the pictures. Then each PE compares its own with
    those of the queries, and a ``gather`` collects the best matches.
    """

    pictures: int = option(220, "pictures to search")
    size: int = option(64, "rows and columns of a picture")
    queries: int = option(11, "the first pictures are the queries")

    name = "retrieval"
    title = "Image retrieval"
    differs = True
    fused = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.queries < self.pictures:
            raise ValueError(f"--queries is {self.queries}; allowed are 1 to {self.pictures - 1}: fewer than pictures")

    @classmethod
    def small(cls) -> list[App]:
        return [cls(pictures=23, size=17, queries=5)]

    @classmethod
    def scaled(cls, n: int) -> Retrieval:
        return cls(pictures=64 * n, size=64, queries=22)

    def made(self, run: Run) -> np.ndarray[Any, Any]:
        """Return the pictures of a PE, each a row of bytes."""
        made = [photographs.make(i, self.size).reshape(-1) for i in range(self.pictures)[self.part(run)]]
        return np.stack(made) if made else np.empty((0, 3 * self.size**2), "u1")

    def part(self, run: Run) -> slice:
        """Return the pictures that a PE has, as a slice."""
        return Blocks(self.pictures, run.n_pes).part(run.pe)

    def scratch(self) -> list[Any]:
        """Return what each group of `describe` works with: pixels, colours, counts and features."""
        sizes = (3 * self.size**2, "u1"), (self.size**2, "i4"), (LINES * COLOURS, "i8"), (FEATURES, "f4")
        return [dpnp.empty((GROUPS, size), dtype=dtype) for size, dtype in sizes]

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        blocks, part = Blocks(self.pictures, run.n_pes), self.part(run)
        count, made = blocks.counts[run.pe], self.made(run)
        pictures = ishmem.zeros((blocks.size, 3 * self.size**2), dtype="u1")
        pictures[:count] = dpnp.asarray(made)
        features, taken = ishmem.zeros((blocks.size, FEATURES), dtype="f4"), dpnp.zeros(GROUPS, dtype="i8")
        first, end, pe = (0, self.pictures, 0) if run.communicates else (part.start, part.start + count, run.pe)
        counter = ishmem.full(1, first, dtype="i8")
        wanted, distances = dpnp.zeros((self.queries, FEATURES), dtype="f4"), dpnp.zeros((self.queries, blocks.size))
        best, everything = (ishmem.zeros((n, self.queries, BEST, 2), dtype="f8") for n in (1, run.n_pes))
        scratch = self.scratch()
        with run.timed():
            arrays = counter, taken, pictures, *scratch, features
            dpex.call_kernel(describe, several(GROUPS), *arrays, blocks.size, end, pe, self.size)
            if run.communicates:
                run.barrier()
            apart = int(run.communicates)
            dpex.call_kernel(match, several(self.queries), features, wanted, distances, blocks.size, apart)
            best[0] = dpnp.asarray(nearest(distances.asnumpy()[:, :count], part.start))
            if run.communicates:
                ishmem.gather(everything, best, 0)
        return merged(everything.asnumpy())

    def check(self, result: np.ndarray[Any, Any]) -> str:
        made = np.stack([photographs.make(i, self.size) for i in range(self.pictures)])
        features, right = correlogram.with_numpy(made), []
        for q, found in enumerate(result):
            query = features[q]
            distances = (abs(features - query) / (1 + features + query)).sum(axis=1)
            best = np.sort(np.delete(distances, q))[:BEST]
            numbers = found[: best.size, 1].astype(int)
            require(len(set(numbers)) == best.size, f"query {q} finds a picture twice")
            require(
                np.allclose(distances[numbers], found[: best.size, 0], atol=1e-5), "a distance differs from numpy's"
            )
            require(np.allclose(found[: best.size, 0], best, atol=1e-5), f"query {q} finds others than with numpy")
            right += [photographs.source(number) == photographs.source(q) for number in numbers]
        words = f"{self.queries} queries find in {self.pictures} pictures what numpy finds"
        return f"{words}; precision of the first {best.size}: {np.mean(right):.2f}"

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        shown = range(0, self.queries, -(-self.queries // 4))
        grid = figure.subplots(len(shown), BEST + 1, squeeze=False)
        for axes, q in zip(grid, shown):
            for axis, number in zip(axes, [q, *result[q, np.isfinite(result[q, :, 0]), 1].astype(int)]):
                axis.imshow(photographs.make(number, self.size))
                right = photographs.source(number) == photographs.source(q)
                axis.spines[:].set(color="#0068b5" if right else "#c81326", linewidth=2)
            for axis in axes:
                axis.set(xticks=[], yticks=[])
        grid[0, 0].set_title("Query", fontsize=9)
        words = "from the same photograph (blue) and from others (red)"
        figure.suptitle(f"Best matches among {self.pictures} pictures on {run.n_pes} PEs, {words}", fontsize=10)
