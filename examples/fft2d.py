"""2-D FFT of a photograph on several PEs, with the corner turn done in five ways.

    ishmrun -n 4 examples/fft2d.py [PHOTOGRAPH] [--size 512]

Each PE owns a block of rows. It transforms them, the PEs transpose the matrix (the corner turn), and each PE
transforms its new rows. All communication is in the corner turn, so its five implementations are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path
from typing import Callable

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import dpnp
import numba_dpex as dpex
import numpy as np
import photograph
from matplotlib.figure import Figure
from numba_dpex import kernel_api as kapi

TOLERANCE = 1e-5  # of the largest value; single precision


@dpex.kernel
def butterflies(item: kapi.Item, x, y, roots, done):
    """Do one stage of Stockham's radix-2 FFT on each row of ``x``: a work-item per butterfly; no bit reversal."""
    row, i = item.get_id(0), item.get_id(1)
    half = roots.size
    low = i & ((1 << done) - 1)
    a, b = x[row, i], x[row, i + half]
    y[row, 2 * i - low] = a + b
    y[row, 2 * i - low + (1 << done)] = (a - b) * roots[i - low]


@dpex.kernel
def turn_by_gets(item: kapi.Item, turned, rows, block):
    """Get one element of the transposed matrix from its owner, so that no local transposition is needed."""
    column, row = item.get_id(0), item.get_id(1)
    place = row % block * turned.shape[1] + ishmem.my_pe() * block + column
    turned[column, row] = ishmem.g(rows, row // block, place)


class Matrix:
    """A complex matrix in blocks of rows, with the buffers of the corner turns.

    It is square, with as many rows as the blocks of all PEs together; elements beyond the FFT's size are zero.
    """

    def __init__(self, picture: np.ndarray) -> None:
        n, self.size = ishmem.n_pes(), len(picture)
        self.block = -(-self.size // n)
        width = n * self.block
        padded = np.zeros((width, width), "c8")
        padded[: self.size, : self.size] = picture
        self.rows, self.other = (ishmem.zeros((self.block, width), dtype="c8") for _ in range(2))
        self.packed, self.parts = (ishmem.zeros((n, self.block, self.block), dtype="c8") for _ in range(2))
        self.everything = ishmem.zeros((width, width), dtype="c8")
        self.roots = dpnp.asarray(np.exp(-2j * np.pi * np.arange(self.size // 2) / self.size).astype("c8"))
        ishmem.put(self.rows, padded.reshape(n, self.block, width)[ishmem.my_pe()], ishmem.my_pe())
        ishmem.barrier_all()

    def transform_rows(self) -> None:
        """Transform each row in place, as far as the FFT's size."""
        for stage in range(self.size.bit_length() - 1):
            items = kapi.Range(self.block, self.size // 2)
            dpex.call_kernel(butterflies, items, self.rows, self.other, self.roots, stage)
            self.rows, self.other = self.other, self.rows

    def pack(self) -> None:
        """Copy the block for PE j to ``packed[j]``."""
        n = ishmem.n_pes()
        self.packed[...] = self.rows.reshape(self.block, n, self.block).transpose(1, 0, 2)

    def unpack(self) -> None:
        """Transpose ``parts[j]``, received from PE j, into the matrix."""
        self.other[...] = self.parts.transpose(2, 0, 1).reshape(self.other.shape)


def kernel_gets(matrix: Matrix) -> None:
    """Get every element from inside a kernel."""
    dpex.call_kernel(turn_by_gets, kapi.Range(*matrix.other.shape), matrix.other, matrix.rows, matrix.block)


def many_gets(matrix: Matrix) -> None:
    """Get this PE's part of every row from each PE."""
    width, mine = matrix.rows.shape[1], ishmem.my_pe() * matrix.block
    for pe in range(ishmem.n_pes()):
        block = matrix.block
        ishmem.ibget(matrix.parts[pe], matrix.rows.reshape(-1)[mine:], block, width, block, block, pe)
    matrix.unpack()


def gather(matrix: Matrix) -> None:
    """Gather the blocks at each PE in turn as root."""
    matrix.pack()
    for root in range(ishmem.n_pes()):
        ishmem.gather(matrix.parts, matrix.packed[root], root)
    matrix.unpack()


def fcollect(matrix: Matrix) -> None:
    """Distribute the whole matrix to every PE, which takes its columns."""
    ishmem.fcollect(matrix.everything, matrix.rows)
    mine = ishmem.my_pe() * matrix.block
    matrix.other[...] = matrix.everything[:, mine : mine + matrix.block].T


def alltoall(matrix: Matrix) -> None:
    """Exchange one block between each pair of PEs."""
    matrix.pack()
    ishmem.alltoall(matrix.parts, matrix.packed)
    matrix.unpack()


WAYS = {
    "gets in a kernel": kernel_gets,
    "many gets": many_gets,
    "gather": gather,
    "fcollect": fcollect,
    "alltoall": alltoall,
}


def fft2d(picture: np.ndarray, way: Callable[[Matrix], None], repeats: int) -> tuple[np.ndarray, float]:
    """Transform on all PEs; return the spectrum and the median seconds of a corner turn on the slowest PE."""
    matrix = Matrix(picture)
    matrix.transform_rows()
    ishmem.barrier_all()
    times = ishmem.zeros(1 + repeats, dtype="f8")
    for number in range(1 + repeats):  # the first compiles kernels
        start = time.perf_counter()
        way(matrix)
        ishmem.quiet()
        ishmem.p(times, time.perf_counter() - start, ishmem.my_pe(), number)
        ishmem.barrier_all()
    matrix.rows, matrix.other = matrix.other, matrix.rows
    matrix.transform_rows()
    ishmem.max_reduce(times, times)
    ishmem.fcollect(matrix.everything, matrix.rows)
    spectrum = matrix.everything.asnumpy()[: matrix.size, : matrix.size].T
    seconds = statistics.median(times.asnumpy()[1:])
    ishmem.free_all()
    return spectrum, seconds


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("photograph", nargs="?", type=Path, default=photograph.sample(), help="a picture file")
    add("--size", type=int, default=256, help="rows and columns that are cut out of its middle; a power of two")
    add("--repeats", type=int, default=5, help="how often each turn is timed")
    add("--output", type=Path, default=Path("fft2d.png"), help="the picture file that is written")
    return parser.parse_args()


def cut(picture: np.ndarray, size: int) -> np.ndarray:
    """Return the central square of a photograph, in grey."""
    if size < 2 or size & (size - 1) or size > min(picture.shape[:2]):
        raise SystemExit(f"fft2d.py: --size is {size}; it is a power of two from 2 to {min(picture.shape[:2])}")
    top, left = ((length - size) // 2 for length in picture.shape[:2])
    return picture[top : top + size, left : left + size].mean(axis=2)


def check(way: str, spectrum: np.ndarray, wanted: np.ndarray) -> None:
    """Compare with numpy's result."""
    error = abs(spectrum - wanted).max() / abs(wanted).max()
    if not error <= TOLERANCE:
        raise SystemExit(f"fft2d.py: with {way}, the result is wrong: {error:.2g} of the largest value")


def draw(path: Path, picture: np.ndarray, spectrum: np.ndarray, seconds: dict[str, float], n: int) -> None:
    """Draw the photograph, its spectrum, and the times of the turns as bars."""
    figure = Figure(figsize=(15, 5), dpi=100, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.imshow(picture, cmap="gray")
    middle.imshow(np.log(abs(np.fft.fftshift(spectrum)) + 1), cmap="magma")
    for axes, title in ((left, "Photograph"), (middle, "Spectrum (logarithm)")):
        axes.set_title(title, fontsize=16)
        axes.set(xticks=[], yticks=[])
    bars = right.barh(list(seconds), [1e3 * value for value in seconds.values()], color="#4a6fa5")
    right.bar_label(bars, fmt="%.2f", padding=3)
    right.invert_yaxis()
    right.margins(x=0.15)
    right.spines[["top", "right"]].set_visible(False)
    right.set_title(f"Corner turn on {n} PEs, ms", fontsize=16)
    figure.savefig(path)


def main() -> None:
    """Transform a photograph in each way, and report on PE 0."""
    options = parse()
    picture = cut(photograph.load(options.photograph), options.size)
    spectra, seconds = {}, {}
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        for name, way in WAYS.items():
            spectra[name], seconds[name] = fft2d(picture, way, options.repeats)
    wanted = np.fft.fft2(picture)
    for name, spectrum in spectra.items():
        check(name, spectrum, wanted)
    if me == 0:
        for name, value in seconds.items():
            print(f"{name:18}{1e3 * value:8.2f} ms")
        print(f"{options.size} x {options.size}, PEs: {n}; the spectra are numpy's")
        draw(options.output, picture, wanted, seconds, n)
        print(f"Spectrum and times: {options.output}")


if __name__ == "__main__":
    main()
