"""3-D FFT in slabs and in pencils: corner turns by alltoallv, or by puts inside the kernel that transforms."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

from ishmem.examples.apps import stockham
from ishmem.examples.apps.corner_turn import Exchange, Shape, Turn, array_in
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCES = {"c8": 1e-5, "c16": 1e-13}  # of the largest value

Plan = list[tuple[int, Any]]
"""Axes to transform, each with the corner turn after it, or None."""


@dataclass(frozen=True)
class Fft3d(App):
    """3-D FFT in slabs or pencils, forward and back, with Stockham kernels of radix 2, 3, 5 and 7.

    Between the transforms of two axes the PEs turn the array by ``alltoallv``. With ``--turn puts`` the last stage of
    an FFT puts each result to its PE inside the kernel, so that communication and computation overlap.
    """

    planes: int = option(60, "size of the first axis; a product of 2, 3, 5 and 7, as the others")
    rows: int = option(72, "size of the second axis")
    columns: int = option(80, "size of the third axis")
    layout: str = option("slab", "slab: one axis is divided among the PEs; pencil: two axes are", ("slab", "pencil"))
    turn: str = option("alltoallv", "how corners are turned: alltoallv, or puts inside a kernel", ("alltoallv", "puts"))
    dtype: str = option("c8", "c8: complex64; c16: complex128", tuple(TOLERANCES))

    name = "fft3d"
    title = "3-D FFT"

    def __post_init__(self) -> None:
        for size in self.shape:
            stockham.radices(size)
        super().__post_init__()

    @classmethod
    def small(cls) -> list[App]:
        shape = (5, 6, 14)
        return [
            cls(*shape, layout="slab", turn="puts"),
            cls(*shape, layout="slab", turn="alltoallv", dtype="c16"),
            cls(*shape, layout="pencil", turn="alltoallv"),
            cls(*shape, layout="pencil", turn="puts", dtype="c16"),
        ]

    @classmethod
    def scaled(cls, n: int) -> Fft3d:
        return cls(planes=32 * n, rows=60, columns=64)

    @property
    def shape(self) -> Shape:
        """The shape of the whole array."""
        return self.planes, self.rows, self.columns

    def grid(self, n: int) -> tuple[int, int]:
        """Return the numbers of PEs, of ``n``, among which the first and the second axis are divided."""
        if self.layout == "slab":
            return n, 1
        wide = max(width for width in range(1, n + 1) if n % width == 0 and width * width <= n)
        return n // wide, wide

    def data(self) -> np.ndarray[Any, Any]:
        """Return the array: noise whose large waves are the strongest."""
        rng, waves = np.random.default_rng(5), np.meshgrid(*(np.fft.fftfreq(n) * n for n in self.shape), indexing="ij")
        strength = (1 + sum(wave**2 for wave in waves)) ** -0.8
        noise = rng.standard_normal((2, *self.shape))
        return np.asarray(np.fft.ifftn((noise[0] + 1j * noise[1]) * strength) * math.prod(self.shape), self.dtype)

    def parts(self, pe: int, n: int, turned: bool) -> tuple[slice, slice, slice]:
        """Return the part that PE ``pe`` of ``n`` has at the start or, ``turned``, after the forward transform."""
        tall, wide = self.grid(n)
        divided = {0: (tall, pe // wide), 1: (wide, pe % wide)}
        if turned:
            divided = {1: (tall, pe // wide), 2: (wide, pe % wide)}
        found = [Blocks(size, divided.get(axis, (1, 0))[0]) for axis, size in enumerate(self.shape)]
        first, second, third = (blocks.part(divided.get(axis, (1, 0))[1]) for axis, blocks in enumerate(found))
        return first, second, third

    def plans(self, pe: int, n: int) -> tuple[Plan, Plan]:
        """Return the transforms and turns of PE ``pe`` of ``n``, forward and back."""
        wide = self.grid(n)[1]
        row = tuple(range(pe // wide * wide, pe // wide * wide + wide)), pe % wide
        column = tuple(range(pe % wide, n, wide)), pe // wide
        there: Plan = [(2, Turn(2, 1, self.rows, *row)), (1, Turn(1, 0, self.planes, *column)), (0, None)]
        back: Plan = [(0, Turn(0, 1, self.rows, *column)), (1, Turn(1, 2, self.columns, *row)), (2, None)]
        if wide == 1:  # slabs: the PEs of a row would exchange nothing
            there[0], back[1] = (2, None), (1, None)
        return there, back

    def apply(self, run: Run, plan: Plan, buffers: Any, shape: Shape, roots: Any, alltoallv: Any) -> tuple[Any, Shape]:
        """Transform as ``plan`` states; return the buffers, the first of which holds the result, and its shape."""
        for axis, turn in plan:
            view = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
            x, other = (array_in(buffer, view) for buffer in buffers[:2])
            if turn and self.turn == "puts" and not run.comm:
                stage = functools.partial(turn.put_last_stage, shape=shape, roots=roots[axis], turned=buffers[2])
                stockham.transform(x, other, roots[axis], stage)
                with run.communication():
                    run.barrier()
                buffers, shape = [buffers[2], *buffers[:2]], turn.shape_of(shape, turn.me)
                continue
            stockham.transform(x, other, roots[axis])
            if len(stockham.radices(shape[axis])) % 2:
                buffers = [buffers[1], buffers[0], buffers[2]]
            if turn:
                shape = turn.exchange(buffers, shape, alltoallv(turn))
        return buffers, shape

    def solve(self, run: Run, buffers: list[Any], kept: Any, alltoallv: Any) -> list[Any]:
        """Transform forward, keep the spectrum in ``kept``, and transform back; return the buffers, result first."""
        data, there_and_back = self.data()[self.parts(run.pe, run.n_pes, False)], self.plans(run.pe, run.n_pes)
        shape: Shape = (data.shape[0], data.shape[1], data.shape[2])
        buffers[0][: data.size] = dpnp.asarray(data.reshape(-1))
        roots = [[stockham.roots_of(size, self.dtype, inverse) for size in self.shape] for inverse in (False, True)]
        with run.timed():
            buffers, shape = self.apply(run, there_and_back[0], buffers, shape, roots[0], alltoallv)
            kept[...] = buffers[0]
            buffers, shape = self.apply(run, there_and_back[1], buffers, shape, roots[1], alltoallv)
        return buffers

    def run(self, run: Run) -> dict[str, Any]:
        buffers = [run.zeros(self.capacity(run.n_pes), self.dtype) for _ in range(4)]
        row, column = run.split_2d(self.grid(run.n_pes)[1])

        def alltoallv(turn: Turn) -> Exchange:
            def exchange(received: Any, packed: Any, arrive: list[int], leave: list[int]) -> None:
                with run.communication():
                    run.alltoallv(received, packed, arrive, leave, row if 2 in (turn.split, turn.join) else column)

            return exchange

        back = self.solve(run, buffers[:3], buffers[3], alltoallv)
        result = {"spectrum": self.assembled(run, buffers[3], True), "back": self.assembled(run, back[0], False)}
        for team in (row, column):
            team.Free() if run.comm else team.destroy()
        return result

    def capacity(self, n: int) -> int:
        """Return the elements of the largest block of one of ``n`` PEs: at the start, between the turns, or after."""
        tall, wide = self.grid(n)
        divisors = ((tall, wide, 1), (tall, 1, wide), (1, tall, wide))
        return max(math.prod(map(Blocks.size_of, self.shape, each)) for each in divisors)

    def assembled(self, run: Run, buffer: Any, turned: bool) -> np.ndarray[Any, Any]:
        """Return the whole array, from the parts in the buffers of all PEs; on PE 0 at least. Collective."""
        whole = np.empty(self.shape, self.dtype)
        blocks = [whole[self.parts(pe, run.n_pes, turned)] for pe in range(run.n_pes)]
        sizes = [block.size for block in blocks]
        found = run.gathered(buffer, sizes)
        for block, end in zip(blocks, np.cumsum(sizes) if run.pe == 0 else ()):
            block[...] = found[end - block.size : end].reshape(block.shape)
        return whole

    def check(self, result: dict[str, Any]) -> str:
        from scipy import fft

        data = self.data()
        for name, wanted in (("spectrum", fft.fftn(data)), ("back", data * data.size)):
            error = abs(result[name] - wanted).max() / abs(wanted).max()
            require(error <= TOLERANCES[self.dtype], f"{name}: off by {error:.2g} of scipy's largest value")
        return f"spectrum and inverse of {' x '.join(map(str, self.shape))} are scipy's"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        left, right = figure.subplots(1, 2)
        left.imshow(result["back"][0].real, cmap="viridis")
        left.set(title="First plane, transformed and back", xticks=[], yticks=[])
        right.imshow(np.log(abs(np.fft.fftshift(result["spectrum"], axes=(1, 2))[0])), cmap="magma")
        right.set(title=f"First plane of the spectrum, {self.layout}s on {run.n_pes} PEs", xticks=[], yticks=[])
