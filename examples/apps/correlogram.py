"""Colour auto-correlograms of pictures, in kernels and with numpy.

The feature of a colour and a distance d is the probability that a pixel at distance d from one of this colour, the
larger of the distances along rows and columns, has the same colour.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

GROUP = 32  # work-items, which share a picture
COLOURS = 64
DISTANCES = (1, 3, 5, 7)
LINES = 1 + len(DISTANCES)  # of counts: the pixels of each colour, and their equal neighbours at each distance
FEATURES = len(DISTANCES) * COLOURS


@dpex.device_func
def quantise(item_id, pixels, colours):
    """Write the colour of each pixel, one of 64: the two highest bits of red, green and blue, by `GROUP` work-items."""
    for i in range(item_id, colours.size, GROUP):
        colours[i] = pixels[3 * i] // 64 * 16 + pixels[3 * i + 1] // 64 * 4 + pixels[3 * i + 2] // 64


@dpex.device_func
def equal_at(colours, size, row, column, here):
    """Return 1 if the pixel of a square picture of side ``size`` exists and has the colour ``here``, else 0."""
    inside = row >= 0 and row < size and column >= 0 and column < size
    return 1 if inside and colours[row * size + column] == here else 0


@dpex.device_func
def correlate(group, item_id, colours, size, counts, features):
    """Compute the ``features`` of a picture: how often a pixel at distance d from one of a colour has this colour."""
    for i in range(item_id, LINES * COLOURS, GROUP):
        counts[i] = 0
    kapi.group_barrier(group)
    for i in range(item_id, size * size, GROUP):
        row, column, here = i // size, i % size, colours[i]
        kapi.AtomicRef(counts, here, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(1)
        for line in range(1, LINES):
            d, same = 2 * line - 1, 0
            for k in range(-d, d):  # the four sides of the square at distance d
                same += equal_at(colours, size, row - d, column + k, here)
                same += equal_at(colours, size, row + k, column + d, here)
                same += equal_at(colours, size, row + d, column - k, here)
                same += equal_at(colours, size, row - k, column - d, here)
            place = line * COLOURS + here
            kapi.AtomicRef(counts, place, memory_scope=kapi.MemoryScope.DEVICE).fetch_add(same)
    kapi.group_barrier(group)
    for i in range(item_id, FEATURES, GROUP):
        pairs = counts[i % COLOURS] * 8 * (2 * (i // COLOURS) + 1)
        features[i] = counts[COLOURS + i] / max(pairs, 1)
    kapi.group_barrier(group)


def with_numpy(pictures: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the features of square pictures (number, rows, columns, 3), a row of float for each, by numpy."""
    made, (count, size, _columns, _channels) = pictures.astype("i8") // 64, pictures.shape
    colours, edge = made @ np.array([16, 4, 1]), DISTANCES[-1]
    padded = np.pad(colours, ((0, 0), (edge, edge), (edge, edge)), constant_values=-1)
    places = np.arange(count)[:, None, None] * COLOURS + colours
    total, lines = count * COLOURS, []
    for d in DISTANCES:
        ring = [(y, x) for y in range(-d, d + 1) for x in range(-d, d + 1) if max(abs(y), abs(x)) == d]
        same = np.zeros(total, "i8")
        for y, x in ring:
            moved = padded[:, edge + y : edge + y + size, edge + x : edge + x + size]
            same += np.bincount(places[moved == colours], minlength=total)
        lines.append(same / np.maximum(len(ring) * np.bincount(places.ravel(), minlength=total), 1))
    return np.asarray(np.stack([line.reshape(-1, COLOURS) for line in lines], axis=1).reshape(-1, FEATURES))
