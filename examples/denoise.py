"""Removes the noise from a photograph by anisotropic diffusion (Perona and Malik, 1990), on several PEs.

    ishmem run -n 4 examples/denoise.py [PHOTOGRAPH]

Each PE owns a block of rows and, above and below it, one more row (a *halo*) into which the kernels of its
neighbours put their edge rows. The host only launches one kernel per iteration.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import ishmem  # first: it lets the SYCL stack find the GPUs, or simulated ones

# isort: split
import numpy as np
import photograph
from tqdm import tqdm

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

RATE = np.float32(0.2)  # of the diffusion; stable up to 1/4
GROUP = 64  # work-items, which share a row
ABOVE, BELOW = 0, 1  # indices into `arrived`: how many halo rows have come from there
TOLERANCE = 1e-4  # 1/40 of a grey level; GPUs may round differently from numpy (fused multiply-add, division)


@dpex.device_func
def flow(picture, row, column, next_row, next_column, threshold):
    """Return how much a pixel mixes with a neighbour: 1 where they are alike, near 0 across an edge."""
    total = threshold
    for channel in range(picture.shape[2]):
        difference = picture[next_row, next_column, channel] - picture[row, column, channel]
        total += difference * difference
    return threshold / total


@dpex.device_func
def diffuse_pixel(now, new, row, column, north, south, threshold):
    """Mix a pixel with its four neighbours; at the edge of the picture a missing neighbour is the pixel itself."""
    west, east = max(column - 1, 0), min(column + 1, now.shape[1] - 1)
    to_north = flow(now, row, column, north, column, threshold)
    to_south = flow(now, row, column, south, column, threshold)
    to_west = flow(now, row, column, row, west, threshold)
    to_east = flow(now, row, column, row, east, threshold)
    for channel in range(now.shape[2]):
        here = now[row, column, channel]
        change = to_north * (now[north, column, channel] - here) + to_south * (now[south, column, channel] - here)
        change += to_west * (now[row, west, channel] - here) + to_east * (now[row, east, channel] - here)
        new[row, column, channel] = here + RATE * change


@dpex.device_func
def send(group, item_id, halo, edge, pe, arrived, side, number):
    """Put an edge row into the halo of PE ``pe``, then ``number``, which announces it, to ``arrived[side]`` there."""
    ishmem.put_work_group(halo, edge, pe, group)
    if item_id == 0:
        ishmem.fence()
        ishmem.p(arrived, number, pe, side)


@dpex.kernel
def diffuse(item: kapi.NdItem, now, new, rows, arrived, iteration, threshold):
    """Do one iteration of the ``rows`` rows, a group per row. Those of the edge rows receive, compute, and send."""
    group, item_id = item.get_group(), item.get_local_id(0)
    above, below, row = ishmem.my_pe() - 1, ishmem.my_pe() + 1, group.get_group_id(0) + 1
    is_top, is_bottom = row == 1, row == rows
    has_above, has_below = is_top and above >= 0, is_bottom and below < ishmem.n_pes()

    if has_above and item_id == 0:
        ishmem.wait_until(arrived, ishmem.CMP_GE, iteration, ABOVE)
    if has_below and item_id == 0:
        ishmem.wait_until(arrived, ishmem.CMP_GE, iteration, BELOW)
    kapi.group_barrier(group)

    north = row - 1 if has_above or not is_top else row
    south = row + 1 if has_below or not is_bottom else row
    for column in range(item_id, now.shape[1], GROUP):
        diffuse_pixel(now, new, row, column, north, south, threshold)

    # A slow neighbour may still read the halo in its `now`; we put into its `new`. The two change places every
    # iteration, and no PE gets two iterations ahead of a neighbour, because it waits for the neighbour's rows.
    if has_above:
        send(group, item_id, new[-1], new[row], above, arrived, BELOW, iteration + 1)
    if has_below:
        send(group, item_id, new[0], new[row], below, arrived, ABOVE, iteration + 1)


def block_rows(height: int, n: int) -> int:
    """Return how many of ``height`` rows one of ``n`` PEs owns; the last may own fewer. It exits if any has none."""
    size = -(-height // n)
    if size * (n - 1) >= height:
        raise SystemExit(f"denoise.py: a photograph of {height} rows is too small for {n} PEs")
    return size


def denoise(noisy: np.ndarray, iterations: int, kappa: float) -> tuple[np.ndarray, float]:
    """Denoise on all PEs; return the picture and the seconds that it took, without compilation."""
    me, size = ishmem.my_pe(), block_rows(len(noisy), ishmem.n_pes())
    rows = min(size, len(noisy) - me * size)
    blocks = ishmem.zeros((2, size + 2, *noisy.shape[1:]), dtype="f4")
    arrived = ishmem.zeros(2, dtype="i8")

    def launch(iteration: int) -> None:
        now, new = blocks[iteration % 2], blocks[(iteration + 1) % 2]
        items = kapi.NdRange((rows * GROUP,), (GROUP,))
        dpex.call_kernel(diffuse, items, now, new, rows, arrived, iteration, np.float32(kappa**2))

    launch(-1)  # compiles the kernel; this call waits for nothing and puts only zeros
    ishmem.barrier_all()
    padded = np.pad(noisy, ((1, size + 1), (0, 0), (0, 0)), mode="edge")
    ishmem.put(blocks[0], padded[me * size : me * size + size + 2], me)
    ishmem.barrier_all()

    start = time.perf_counter()
    for iteration in tqdm(range(iterations), "denoising", ncols=80, disable=me > 0):
        launch(iteration)
    ishmem.barrier_all()
    seconds = time.perf_counter() - start
    denoised = gather(blocks[iterations % 2, 1:-1], len(noisy))
    ishmem.free(arrived)
    ishmem.free(blocks)
    return denoised, seconds


def gather(block: Any, height: int) -> np.ndarray:
    """Return the picture of ``height`` rows, assembled from the blocks of all PEs."""
    parts = np.empty((ishmem.n_pes(), *block.shape), dtype="f4")
    for pe, part in enumerate(parts):
        ishmem.get(part, block, pe)
    return parts.reshape(-1, *block.shape[1:])[:height]


def report(options: argparse.Namespace, pictures: list[np.ndarray], n: int, seconds: float) -> None:
    """Print the result, check it against numpy, and draw it; ``pictures``: original, noisy and denoised."""
    original, noisy, denoised = pictures
    speed = original[..., 0].size * options.iterations / seconds / 1e6
    before, after = photograph.psnr(noisy, original), photograph.psnr(denoised, original)
    print(f"{options.iterations} iterations, PEs: {n}, {seconds:.2f} s, {speed:.1f} Mpixel/s")
    print(f"PSNR: {before:.1f} dB noisy, {after:.1f} dB denoised")
    serial = photograph.denoise_serially(noisy, options.iterations, options.kappa, RATE)
    error = abs(denoised - serial).max()
    print(f"Largest difference from serial numpy: {error:.2g}{'' if error else ', bit for bit the same'}")
    if not error <= TOLERANCE:
        raise SystemExit(f"denoise.py: the result is wrong; differences up to {TOLERANCE} are rounding")
    photograph.draw(options.output, original, noisy, denoised, block_rows(len(original), n))
    print(f"Before and after: {options.output}")


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("photograph", nargs="?", type=Path, default=photograph.sample(), help="a picture file")
    add("--iterations", type=int, default=50, help="number of iterations")
    add("--noise", type=float, default=0.1, help="standard deviation of the noise; the pixels are 0 to 1")
    add("--kappa", type=float, default=0.04, help="differences that are much larger are edges, and kept")
    add("--output", type=Path, default=Path("denoise.png"), help="the picture file that is written")
    return parser.parse_args()


def main() -> None:
    """Denoise a photograph, and report on PE 0."""
    options = parse()
    original = photograph.load(options.photograph)
    noisy = photograph.add_noise(original, options.noise)
    with ishmem.init():
        me, n = ishmem.my_pe(), ishmem.n_pes()
        denoised, seconds = denoise(noisy, options.iterations, options.kappa)
    if me == 0:
        report(options, [original, noisy, denoised], n, seconds)


if __name__ == "__main__":
    main()
