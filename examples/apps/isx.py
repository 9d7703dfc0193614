"""Integer sort (ISx): each PE sends its keys to the PEs whose ranges they belong to, and counts those it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import App, Blocks, Run, launch, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXCHANGES = ("alltoallv", "atomics")


@dpex.kernel
def tally(item: kapi.Item, keys, low, width, counts):
    """Count the keys in ranges of ``width`` that begin at ``low``, in ``counts``: a work-item for each key."""
    place = (keys[item.get_id(0)] - low) // width
    kapi.AtomicRef(counts, place, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)


@dpex.kernel
def sort_into_buckets(item: kapi.Item, keys, width, ends, buckets):
    """Copy each key into its bucket, of ``width`` numbers; ``ends`` are the elements that their next keys take."""
    key = keys[item.get_id(0)]
    place = kapi.AtomicRef(ends, key // width, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)
    buckets[place] = key


@dpex.kernel
def send(item: kapi.Item, keys, width, taken, received):
    """Put each key to the PE of its range, into the next free element there, which ``taken[0]`` counts."""
    key = keys[item.get_id(0)]
    pe = key // width
    place = ishmem.atomic_fetch_add(taken, 1, pe, 0)
    if place < received.size:
        ishmem.p(received, key, pe, place)


@dataclass(frozen=True)
class Isx(App):
    """Integer sort (ISx): each PE sends its keys to the PEs whose ranges they belong to, and counts those it gets.

    Kernels count the keys of each bucket and place them in it by atomic additions. The buckets travel by ``alltoallv``,
    or key by key from inside a kernel: ``atomic_fetch_add`` on the receiver reserves an element, and ``p`` fills it.
    """

    keys: int = option(400_000, "keys of all PEs")
    range: int = option(1 << 16, "keys are below this number")
    exchange: str = option("alltoallv", "how keys travel: alltoallv, or atomics in a kernel", EXCHANGES)

    name = "isx"
    title = "Integer sort (ISx)"

    @classmethod
    def small(cls) -> list[App]:
        return [cls(keys=1001, range=101, exchange=exchange) for exchange in EXCHANGES]

    @classmethod
    def scaled(cls, n: int) -> Isx:
        return cls(keys=200_000 * n, range=1 << 16)

    def made(self, pe: int, n: int) -> np.ndarray[Any, Any]:
        """Return the keys of PE ``pe`` of ``n`` before the sort."""
        return np.random.default_rng((1, pe)).integers(0, self.range, Blocks(self.keys, n).counts[pe])

    def capacity(self, n: int) -> int:
        """Return how many keys one of ``n`` PEs can receive: keys are uniform, and twice the average leaves room."""
        return 2 * Blocks(self.keys, n).size + 256

    def run(self, run: Run) -> dict[str, Any]:
        keys = dpnp.asarray(self.made(run.pe, run.n_pes))
        ranges = Blocks(self.range, run.n_pes)
        sizes = self.capacity(run.n_pes), self.capacity(run.n_pes), ranges.size, run.n_pes, run.n_pes
        received, buckets, counts, sent, due = (run.zeros(size, "i8") for size in sizes)
        with run.timed():
            if self.exchange == "alltoallv" or run.comm:
                arrived = self._by_alltoallv(run, keys, ranges.size, buckets, received, sent, due)
            else:
                arrived = self._by_atomics(run, keys, ranges.size, received, sent)
            launch(tally, arrived, received, run.pe * ranges.size, 1, counts)
        return {"counts": run.gathered(counts, ranges.counts), "n": run.n_pes}

    def _by_alltoallv(self, run: Run, keys: Any, width: int, buckets: Any, received: Any, sent: Any, due: Any) -> int:
        launch(tally, len(keys), keys, 0, width, sent)
        with run.communication():
            run.alltoall(due, sent)
        counts, arrive = (run.view(array).tolist() for array in (sent, due))
        ends = dpnp.asarray(np.cumsum([0, *counts[:-1]]))
        launch(sort_into_buckets, len(keys), keys, width, ends, buckets)
        require(sum(arrive) <= received.size, "a PE gets more than twice the average number of keys")
        with run.communication():
            run.alltoallv(received, buckets, arrive, counts)
        return sum(arrive)

    def _by_atomics(self, run: Run, keys: Any, width: int, received: Any, taken: Any) -> int:
        with run.communication():
            launch(send, len(keys), keys, width, taken, received)
            ishmem.barrier_all()
        require(int(taken[0]) <= received.size, "a PE gets more than twice the average number of keys")
        return int(taken[0])

    def check(self, result: dict[str, Any]) -> str:
        keys = np.sort(np.concatenate([self.made(pe, result["n"]) for pe in range(result["n"])]))
        found = np.repeat(np.arange(self.range), result["counts"])
        require(found.size == keys.size, f"{found.size} keys are left of {keys.size}")
        require(np.array_equal(found, keys), "the order differs from numpy.sort")
        return f"{keys.size} keys are in the order of numpy.sort"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        n = result["n"]
        left, right = figure.subplots(1, 2)
        first = [self.made(pe, n)[:200] for pe in range(n)]
        found = np.repeat(np.arange(self.range), result["counts"])
        shown = found[np.linspace(0, found.size - 1, 200 * n).astype(int)]
        owners = np.minimum(shown // Blocks(self.range, n).size, n - 1)
        places = np.arange(200 * n)
        left.scatter(range(sum(map(len, first))), np.concatenate(first), s=3, c="#6a6d75")
        left.set(title="Keys before", xlabel="place", ylabel="key")
        right.scatter(places, shown, s=3, c=owners, cmap="tab10")
        right.set(title=f"Keys after, coloured by PE ({found.size} keys)", xlabel="place", ylabel="key")
