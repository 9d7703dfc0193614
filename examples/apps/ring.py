"""Ring allreduce inside one kernel: tiles travel with signals while the next ones are added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP = 64  # work-items; one group, because groups that wait for other PEs must all run at the same time


@dpex.device_func
def add_tile(group, item_id, total, part):
    """Add a tile that has arrived."""
    for i in range(item_id, part.size, GROUP):
        total[i] += part[i]
    kapi.group_barrier(group)


@dpex.kernel
def allreduce(item: kapi.NdItem, data, inbox, arrived, size, tile, number):
    """Add up ``data``, chunks of ``size``, of all PEs: once around the ring to add, once more to deliver the sums.

    Signal ``step * tiles + t`` says that tile ``t`` of a step has arrived; ``number`` counts the calls.
    """
    group, item_id = item.get_group(), item.get_local_id(0)
    me, n, tiles = ishmem.my_pe(), ishmem.n_pes(), (size + tile - 1) // tile
    for step in range(2 * n - 2):
        chunk = (me - step + 2 * n) % n * size
        for t in range(tiles):
            low, high = t * tile, min(t * tile + tile, size)
            mine = data[chunk + low : chunk + high]
            if step > 0:
                ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_GE, number, group, (step - 1) * tiles + t)
            if step > 0 and step < n:
                add_tile(group, item_id, mine, inbox[(step - 1) * size + low : (step - 1) * size + high])
            to = inbox[step * size + low : step * size + high] if step < n - 1 else mine
            signal = step * tiles + t
            ishmem.put_signal_work_group(
                to, mine, arrived, number, ishmem.SIGNAL_SET, (me + 1) % n, group, index=signal
            )
    for t in range(tiles):
        ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_GE, number, group, (2 * n - 3) * tiles + t)


@dataclass(frozen=True)
class Ring(App):
    """Ring allreduce inside one kernel, beside ``sum_reduce``: tiles travel with signals while the next are added.

    The array has a chunk for each PE. Each chunk goes around the ring once and collects the values of all PEs, and once
    more to deliver the sums. A PE passes a tile of a chunk on as soon as it has arrived.
    """

    size: int = option(100_000, "elements on each PE")
    tile: int = option(2048, "elements of a tile")
    repeats: int = option(10, "how often the arrays are added up")

    name = "ring"
    title = "Ring allreduce"
    beside = "sum_reduce"

    @classmethod
    def small(cls) -> list[App]:
        return [cls(size=1001, tile=100, repeats=2)]

    @classmethod
    def scaled(cls, n: int) -> Ring:
        return cls(size=100_000 * n)

    def values(self, pe: int) -> np.ndarray[Any, Any]:
        """Return the values of a PE: whole numbers, whose sums are exact in any order."""
        return np.random.default_rng((6, pe)).integers(-1000, 1000, self.size).astype("f8")

    def run(self, run: Run) -> dict[str, Any]:
        chunk, n = Blocks(self.size, run.n_pes).size, run.n_pes
        tile = max(min(self.tile, chunk), 1)
        data, inbox = (ishmem.zeros(n * chunk, dtype="f8") for _ in range(2))
        arrived = ishmem.zeros(max(2 * n - 2, 1) * -(-chunk // tile), dtype="u8")
        start = np.zeros(n * chunk)
        start[: self.size] = self.values(run.pe)
        source = ishmem.array(start)
        with run.timed():
            for number in run.steps(range(1, self.repeats + 1), "adding"):
                ishmem.get(data, source, run.pe)
                with run.communication():
                    ishmem.barrier_all()
                    if n > 1:
                        items = kapi.NdRange((GROUP,), (GROUP,))
                        dpex.call_kernel(allreduce, items, data, inbox, arrived, chunk, tile, number)
        ishmem.sum_reduce(source, source)
        same = bool(dpnp.all(data == source))
        return {"sums": data.asnumpy()[: self.size], "same": same, "n": n}

    def run_beside(self, run: Run) -> dict[str, Any]:
        data, source = ishmem.zeros(self.size, dtype="f8"), ishmem.array(self.values(run.pe))
        with run.timed():
            for _ in range(self.repeats):
                with run.communication():
                    ishmem.sum_reduce(data, source)
        return {"sums": data.asnumpy(), "same": True, "n": run.n_pes}

    def check(self, result: dict[str, Any]) -> str:
        wanted = sum(self.values(pe) for pe in range(result["n"]))
        require(np.array_equal(result["sums"], wanted), "the sums differ from those of numpy")
        require(result["same"], "the sums differ from those of sum_reduce")
        return f"{self.size} sums over {result['n']} PEs are those of numpy and of sum_reduce"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        axes, n, shown = figure.subplots(), result["n"], min(self.size, 200)
        for pe in range(n):
            axes.plot(self.values(pe)[:shown], color="#6a6d75", linewidth=0.5, alpha=0.6)
        axes.plot(result["sums"][:shown], color="#0068b5", linewidth=1.5)
        axes.set(title=f"Values of {n} PEs (grey) and their sums (blue)", xlabel="element")
