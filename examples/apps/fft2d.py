"""2-D FFT of a photograph, with the corner turn done in four ways: fcollect, gather, many gets, alltoall."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps import stockham
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOLERANCE = 1e-5  # of the largest value; single precision


@dpex.kernel
def turn_by_gets(item: kapi.Item, turned, rows, block, first):
    """Get one element of the transposed matrix from its owner; PEs own ``block`` rows, this one from ``first`` on."""
    column, row = item.get_id(0), item.get_id(1)
    place = row % block * turned.shape[1] + first + column
    turned[column, row, 0] = ishmem.g(rows, row // block, place)


class Matrix:
    """This PE's rows of a square complex matrix, with the buffers of the corner turns.

    It has as many rows as the blocks of all PEs together; elements beyond ``size`` are zero.
    """

    def __init__(self, size: int, run: Run) -> None:
        self.run, self.n, self.pe, self.block = run, run.n_pes, run.pe, Blocks(size, run.n_pes).size
        width = self.n * self.block
        self.rows, self.other = (run.zeros((self.block, width, 1), "c8") for _ in range(2))
        self.packed, self.parts = (run.zeros((self.n, self.block, self.block), "c8") for _ in range(2))
        self.everything = run.zeros((width, width, 1), "c8")
        self.roots = stockham.roots_of(size, "c8")

    def transform_rows(self) -> None:
        """Transform each row in place."""
        self.rows, self.other = stockham.transform(self.rows, self.other, self.roots)

    def pack(self) -> None:
        """Copy the block for PE j to ``packed[j]``."""
        self.packed[...] = self.rows.reshape(self.block, self.n, self.block).transpose(1, 0, 2)

    def unpack(self) -> None:
        """Transpose ``parts[j]``, received from PE j, into the matrix."""
        self.other[...] = self.parts.transpose(2, 0, 1).reshape(self.other.shape)

    def take(self) -> None:
        """Take this PE's columns of ``everything``."""
        mine = self.everything[:, self.pe * self.block : (self.pe + 1) * self.block, 0]
        self.other[..., 0] = mine.T


def by_fcollect(matrix: Matrix) -> None:
    """Distribute the whole matrix to every PE, which takes its columns. Collective."""
    matrix.run.fcollect(matrix.everything, matrix.rows)
    matrix.take()


def by_gather(matrix: Matrix) -> None:
    """Gather the blocks of the matrix at each PE in turn as root. Collective."""
    matrix.pack()
    for root in range(matrix.n):
        matrix.run.gather(matrix.parts, matrix.packed, root)
    matrix.unpack()


def by_gets(matrix: Matrix) -> None:
    """Get every element of the turned matrix from inside a kernel. Collective."""
    ishmem.barrier_all()
    items = kapi.Range(*matrix.other.shape[:2])
    dpex.call_kernel(turn_by_gets, items, matrix.other, matrix.rows, matrix.block, matrix.pe * matrix.block)
    ishmem.barrier_all()


def by_alltoall(matrix: Matrix) -> None:
    """Exchange one block of the matrix between each pair of PEs. Collective."""
    matrix.pack()
    matrix.run.alltoall(matrix.parts, matrix.packed)
    matrix.unpack()


WAYS = {"fcollect": by_fcollect, "gather": by_gather, "gets": by_gets, "alltoall": by_alltoall}


@dataclass(frozen=True)
class Fft2d(App):
    """2-D FFT of a photograph (GSHMEM): each PE transforms its rows, the PEs transpose the matrix, and again.

    The transposition, the corner turn, is done by ``fcollect``, by ``gather`` with each PE as root, by a kernel that
    gets each element, and by ``alltoall``. Sizes are products of 2, 3, 5 and 7.
    """

    size: int = option(360, "rows and columns")
    turn: str = option("all", "how the corner turn is done: fcollect, gather, gets, alltoall or all", (*WAYS, "all"))
    repeats: int = option(5, "how often each turn is timed")

    name = "fft2d"
    title = "2-D FFT"

    def __post_init__(self) -> None:
        stockham.radices(self.size)
        super().__post_init__()

    @classmethod
    def small(cls) -> list[App]:
        return [cls(size=30, repeats=1)]

    @classmethod
    def scaled(cls, n: int) -> Fft2d:
        return cls(size={1: 360, 2: 504}.get(n, 360 * round(n**0.5)), turn="alltoall", repeats=1)

    @property
    def turns(self) -> list[str]:
        """The ways of this run."""
        return list(WAYS) if self.turn == "all" else [self.turn]

    def picture(self) -> np.ndarray[Any, Any]:
        """Return a photograph of ``size`` rows and columns, from 0 to 255; noise if matplotlib is not installed."""
        try:
            import matplotlib.cbook
            import matplotlib.image

            path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
            picture = matplotlib.image.imread(path).mean(axis=2)
        except ImportError:
            picture = np.random.default_rng(4).random((512, 512)) * 255
        times = -(-self.size // min(picture.shape))
        return np.tile(picture, (times, times))[: self.size, : self.size]

    def load(self, matrix: Matrix) -> None:
        """Fill the matrix with this PE's rows of the picture."""
        mine = self.picture()[matrix.pe * matrix.block : (matrix.pe + 1) * matrix.block]
        padded = np.zeros(matrix.rows.shape, "c8")
        padded[: len(mine), : self.size, 0] = mine
        matrix.rows[...] = dpnp.asarray(padded)

    def transform(self, run: Run, matrix: Matrix, turn: Any) -> float:
        """Transform ``matrix`` by rows, ``turn(matrix)``, rows; return the median seconds of the turn on this PE."""
        matrix.transform_rows()
        seconds = []
        for _ in range(self.repeats):
            run.barrier()
            start = time.perf_counter()
            with run.communication():
                turn(matrix)
            seconds.append(time.perf_counter() - start)
        matrix.rows, matrix.other = matrix.other, matrix.rows
        matrix.transform_rows()
        return statistics.median(seconds)

    def run(self, run: Run) -> dict[str, Any]:
        matrix, spectra, seconds = Matrix(self.size, run), {}, {}
        ways = {**WAYS, "gets": by_alltoall} if run.comm else WAYS
        for way in run.steps(self.turns, "turning"):
            self.load(matrix)
            with run.timed():
                seconds[way] = self.transform(run, matrix, ways[way])
            columns = run.gathered(matrix.rows, Blocks(self.size, run.n_pes).counts)
            spectra[way] = columns[:, : self.size, 0].T if run.pe == 0 else None
            run.barrier()
        return {"spectra": spectra, "seconds": seconds}

    def check(self, result: dict[str, Any]) -> str:
        from scipy import fft

        wanted = fft.fft2(self.picture())
        for way, spectrum in result["spectra"].items():
            error = abs(spectrum - wanted).max() / abs(wanted).max()
            require(error <= TOLERANCE, f"with {way}, the spectrum is off by {error:.2g} of the largest value")
        times = ", ".join(f"{way} {1e3 * seconds:.3g} ms" for way, seconds in result["seconds"].items())
        return f"the spectra are scipy's; corner turns: {times}"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        left, middle, right = figure.subplots(1, 3)
        left.imshow(self.picture(), cmap="gray")
        spectrum = next(iter(result["spectra"].values()))
        middle.imshow(np.log(abs(np.fft.fftshift(spectrum)) + 1), cmap="magma")
        for axes, title in ((left, "Photograph"), (middle, "Spectrum (logarithm)")):
            axes.set(title=title, xticks=[], yticks=[])
        bars = right.barh(list(result["seconds"]), [1e3 * value for value in result["seconds"].values()])
        right.bar_label(bars, fmt="%.2f", padding=3)
        right.invert_yaxis()
        right.margins(x=0.2)
        right.set(title=f"Corner turn on {run.n_pes} PEs, ms")
