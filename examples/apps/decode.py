"""Attention of one new token to keys that are split over the PEs (flash decoding), in one kernel.

Each PE attends to its keys and puts the partial results of a chunk of heads to all PEs, with a signal, before it
computes the next chunk. Then it combines the partial results of all PEs, chunk by chunk as they arrive.
"""

from __future__ import annotations

import math
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

GROUP = 32  # work-items; one group, because groups that wait for other PEs must all run at the same time
SIZE = 32  # elements of a key and of a value
ROW = SIZE + 2  # a partial result: the greatest score, the sum of the weights, and the weighted sum of the values
SCALE = SIZE**-0.5


@dpex.device_func
def attend(query, keys, values, parts, head, heads, count):
    """Compute the partial result of a head for ``count`` keys, with weights relative to the greatest score so far."""
    at, best, total = head * ROW, np.float32(-1e30), np.float32(0)
    for i in range(count):
        score, row = np.float32(0), (i * heads + head) * SIZE
        for k in range(SIZE):
            score += query[head * SIZE + k] * keys[row + k]
        score *= np.float32(SCALE)
        greatest = max(best, score)
        before, weight = math.exp(best - greatest), math.exp(score - greatest)
        total = total * before + weight
        for k in range(SIZE):
            parts[at + 2 + k] = parts[at + 2 + k] * before + weight * values[row + k]
        best = greatest
    parts[at], parts[at + 1] = best, total


@dpex.device_func
def combine(parts, out, head, heads, n):
    """Combine the partial results of a head of all ``n`` PEs in ``parts``, and write its output to ``out``."""
    best, total = np.float32(-1e30), np.float32(0)
    for pe in range(n):
        best = max(best, parts[(pe * heads + head) * ROW])
    for k in range(SIZE):
        out[head * SIZE + k] = 0
    for pe in range(n):
        at = (pe * heads + head) * ROW
        weight = math.exp(parts[at] - best)
        total += weight * parts[at + 1]
        for k in range(SIZE):
            out[head * SIZE + k] += weight * parts[at + 2 + k]
    for k in range(SIZE):
        out[head * SIZE + k] /= total


@dpex.kernel
def decode(item: kapi.NdItem, query, keys, values, parts, arrived, out, heads, count, together):
    """Attend to this PE's ``count`` keys, and combine with the other PEs, if ``together``, else with zeros.

    ``parts`` has a row for each head of each PE. Signal ``pe * chunks + c`` says that chunk ``c`` of a PE has arrived.
    """
    group, item_id = item.get_group(), item.get_local_id(0)
    me, n, chunks = ishmem.my_pe(), ishmem.n_pes(), (heads + GROUP - 1) // GROUP
    own = parts[me * heads * ROW : (me + 1) * heads * ROW]
    for chunk in range(chunks):
        head, last = chunk * GROUP + item_id, min((chunk + 1) * GROUP, heads)
        if head < heads:
            attend(query, keys, values, own, head, heads, count)
        rows = own[chunk * GROUP * ROW : last * ROW]
        for distance in range(1, n if together else 1):
            pe = (me + distance) % n
            index = me * chunks + chunk
            ishmem.put_signal_work_group(rows, rows, arrived, 1, ishmem.SIGNAL_SET, pe, group, index=index)
    for chunk in range(chunks):
        for distance in range(1, n if together else 1):
            pe = (me + distance) % n
            ishmem.signal_wait_until_work_group(arrived, ishmem.CMP_EQ, 1, group, pe * chunks + chunk)
        head = chunk * GROUP + item_id
        if head < heads:
            combine(parts, out, head, heads, n)


@dpex.kernel
def attend_all(item: kapi.Item, query, keys, values, parts, heads, count):
    """Attend to this PE's ``count`` keys: one work-item for each head."""
    attend(query, keys, values, parts, item.get_id(0), heads, count)


@dpex.kernel
def combine_all(item: kapi.Item, parts, out, heads, n):
    """Combine the partial results of all ``n`` PEs: one work-item for each head."""
    combine(parts, out, item.get_id(0), heads, n)


@dataclass(frozen=True)
class Decode(App):
    """Flash decoding: one new token attends to keys that are split over the PEs, in one kernel.

    A PE puts its partial results of some heads to all PEs while it computes those of the next heads.
    """

    heads: int = option(64, "attention heads")
    length: int = option(500, "keys of each head")

    name = "decode"
    title = "Flash decoding"
    fused = True
    beside = "fcollect between two kernels"

    @classmethod
    def small(cls) -> list[App]:
        return [cls(heads=5, length=7), cls(heads=40, length=2)]

    @classmethod
    def scaled(cls, n: int) -> Decode:
        return cls(heads=64, length=1000 * n)

    def problem(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return query [heads, SIZE], and keys and values [length, heads, SIZE]."""
        random = np.random.default_rng(3)
        shapes = (self.heads, SIZE), (self.length, self.heads, SIZE), (self.length, self.heads, SIZE)
        query, keys, values = (random.standard_normal(shape).astype("f4") for shape in shapes)
        return query, keys, values

    def parts(self, run: Run) -> tuple[tuple[dpnp.ndarray, ...], int]:
        """Return the query and this PE's keys and values on its device, flat, and the number of its keys."""
        query, keys, values = self.problem()
        mine = Blocks(self.length, run.n_pes).part(run.pe)
        arrays = tuple(dpnp.asarray(np.append(each, np.float32(0))) for each in (query, keys[mine], values[mine]))
        return arrays, len(keys[mine])

    def run(self, run: Run) -> np.ndarray[Any, Any]:
        arrays, count = self.parts(run)
        parts = ishmem.zeros(run.n_pes * self.heads * ROW, dtype="f4")
        arrived = ishmem.zeros(run.n_pes * -(-self.heads // GROUP), dtype="u8")
        out = dpnp.zeros(self.heads * SIZE, dtype="f4")
        with run.timed():
            items = kapi.NdRange((GROUP,), (GROUP,))
            sizes = self.heads, count, int(run.communicates)
            dpex.call_kernel(decode, items, *arrays, parts, arrived, out, *sizes)
        return self.shaped(out)

    def run_beside(self, run: Run) -> np.ndarray[Any, Any]:
        arrays, count = self.parts(run)
        own, parts = (run.zeros(n * self.heads * ROW, "f4") for n in (1, run.n_pes))
        out = dpnp.zeros(self.heads * SIZE, dtype="f4")
        with run.timed():
            dpex.call_kernel(attend_all, kapi.Range(self.heads), *arrays, own, self.heads, count)
            with run.communication():
                run.fcollect(parts, own)
            dpex.call_kernel(combine_all, kapi.Range(self.heads), parts, out, self.heads, run.n_pes)
        return self.shaped(out)

    def shaped(self, out: dpnp.ndarray) -> np.ndarray[Any, Any]:
        """Return ``out`` as a numpy array with a row for each head."""
        rows: np.ndarray[Any, Any] = out.asnumpy().reshape(self.heads, SIZE)
        return rows

    def weights(self) -> np.ndarray[Any, Any]:
        """Return the weight of each key for each head, by numpy."""
        query, keys, _values = self.problem()
        scores = np.einsum("hk,lhk->hl", query.astype("f8"), keys) * SCALE
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: np.ndarray[Any, Any] = powers / powers.sum(axis=1, keepdims=True)
        return shares

    def check(self, result: np.ndarray[Any, Any]) -> str:
        expected = np.einsum("hl,lhk->hk", self.weights(), self.problem()[2])
        require(np.allclose(result, expected, rtol=1e-4, atol=1e-5), "the attention differs from that of numpy")
        return f"the attention of {self.heads} heads to {self.length} keys is that of numpy"

    def draw(self, figure: Figure, result: np.ndarray[Any, Any], run: Run) -> None:
        from matplotlib.colors import PowerNorm

        axis, block = figure.subplots(), Blocks(self.length, run.n_pes).size
        image = axis.imshow(self.weights(), "viridis", norm=PowerNorm(0.4), aspect="auto")
        axis.set(title="Weights of the keys, divided by PEs", xlabel="key", ylabel="head")
        figure.colorbar(image)
        for pe in range(1, run.n_pes):
            axis.axvline(pe * block - 0.5, color="white")
