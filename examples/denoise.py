"""Removes noise from a photograph by anisotropic diffusion (Perona and Malik, 1990) on several PEs.

    ishmrun -n 4 examples/denoise.py [PHOTOGRAPH]

Each PE owns a block of rows, with one more row (*halo*) above and below it, where the neighbours' kernels put
their edge rows. No host code takes part in that: a kernel waits for its halos, computes, sends its edges.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import ishmem  # before numba_dpex: it finds the GPUs, or simulates them
import matplotlib.cbook
import matplotlib.pyplot as plt
import numba_dpex as dpex
import numpy as np
from numba_dpex import kernel_api as kapi
from tqdm import tqdm

ABOVE, BELOW = 0, 1  # the elements of `arrived`, which say of which iteration the halos are
GROUP = 64  # work-items that share a row
RATE = np.float32(0.2)  # at most 1/4, for the diffusion to be stable


@dpex.device_func
def flow(picture, row, column, next_row, next_column, threshold):
    """Return how easily a pixel mixes with its neighbour: 1 in flat regions, near 0 across an edge."""
    total = threshold
    for channel in range(picture.shape[2]):
        difference = picture[next_row, next_column, channel] - picture[row, column, channel]
        total += difference * difference
    return threshold / total


@dpex.device_func
def diffuse_pixel(now, new, row, column, north, south, threshold, rate):
    """Move a pixel towards its four neighbours, where no edge is between them."""
    west, east = max(column - 1, 0), min(column + 1, now.shape[1] - 1)
    to_north, to_south = flow(now, row, column, north, column, threshold), flow(now, row, column, south, column, threshold)
    to_west, to_east = flow(now, row, column, row, west, threshold), flow(now, row, column, row, east, threshold)
    for channel in range(now.shape[2]):
        here = now[row, column, channel]
        change = to_north * (now[north, column, channel] - here) + to_south * (now[south, column, channel] - here)
        change += to_west * (now[row, west, channel] - here) + to_east * (now[row, east, channel] - here)
        new[row, column, channel] = here + rate * change


@dpex.kernel
def diffuse(item: kapi.NdItem, now, new, rows, arrived, iteration, threshold, rate):
    """Compute one iteration, a row per group: only those of the edge rows wait for a neighbour."""
    group = item.get_group()
    row, first = group.get_group_id(0) + 1, item.get_local_id(0)
    above, below = ishmem.my_pe() - 1, ishmem.my_pe() + 1
    has_above, has_below = row == 1 and above >= 0, row == rows and below < ishmem.n_pes()
    if first == 0 and has_above:
        ishmem.wait_until(arrived, ishmem.CMP_GE, iteration, ABOVE)
    if first == 0 and has_below:
        ishmem.wait_until(arrived, ishmem.CMP_GE, iteration, BELOW)
    kapi.group_barrier(group)

    north = row if row == 1 and above < 0 else row - 1
    south = row if row == rows and below == ishmem.n_pes() else row + 1
    for column in range(first, now.shape[1], GROUP):
        diffuse_pixel(now, new, row, column, north, south, threshold, rate)

    # `now` and `new` change places each iteration, so nothing that a slower neighbour still reads is
    # overwritten: it has sent us iteration n only after reading the halo that we overwrite with n + 1.
    if has_above:
        ishmem.put_work_group(new[new.shape[0] - 1], new[row], above, group)
    if has_below:
        ishmem.put_work_group(new[0], new[row], below, group)
    if first == 0 and (has_above or has_below):
        ishmem.fence()  # the row arrives before the number that announces it
        if has_above:
            ishmem.p(arrived, iteration + 1, above, BELOW)
        if has_below:
            ishmem.p(arrived, iteration + 1, below, ABOVE)
