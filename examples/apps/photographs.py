"""Small pictures made from the photographs that scikit-image, scikit-learn and matplotlib have in their wheels."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

FOLDERS = {
    ("skimage", "data"): ("astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png",
                          "motorcycle_left.png", "retina.jpg", "rocket.jpg"),
    ("sklearn", "datasets/images"): ("china.jpg", "flower.jpg"),
    ("matplotlib", "mpl-data/sample_data"): ("grace_hopper.jpg",),
}  # fmt: skip
LONGEST = 400  # pixels of a side: larger photographs are made smaller
NOISE = 6.0  # standard deviation, of 255 levels


def paths() -> list[Path]:
    """Return the paths of the photographs that are installed."""
    found = []
    for (package, folder), names in FOLDERS.items():
        spec = importlib.util.find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec else []:
            found += [Path(place, folder, name) for name in names]
    return [path for path in found if path.exists()]


@functools.lru_cache
def load() -> list[np.ndarray[Any, Any]]:
    """Return the photographs as rows x columns x 3 of uint8; without any installed, three patterns of noise."""
    if not paths():
        rng = np.random.default_rng(9)
        colours = np.eye(3)[:, None, None] * 0.5 + 0.5
        return [np.asarray(rng.random((200, 200, 3)) * colour * 255, "u1") for colour in colours]
    from PIL import Image

    photographs = []
    for path in paths():
        with Image.open(path) as picture:
            small = picture.convert("RGB")
            small.thumbnail((LONGEST, LONGEST))
            photographs.append(np.asarray(small))
    return photographs


def make(number: int, size: int) -> np.ndarray[Any, Any]:
    """Return a picture of ``size`` x ``size`` pixels: a part of photograph `source(number)`, rotated, with noise."""
    photograph, rng = load()[source(number)], np.random.default_rng((9, number))
    shape = np.array(photograph.shape[:2])
    largest = shape.min() / 2 / np.sqrt(2)  # half a side of a square that fits at any angle
    half, angle = rng.uniform(0.35, 1) * largest, rng.uniform(0, 2 * np.pi)
    row, column = rng.uniform(half * np.sqrt(2), shape - half * np.sqrt(2))
    down, right = np.meshgrid(*[np.linspace(-half, half, size)] * 2, indexing="ij")
    rows = row + down * np.cos(angle) - right * np.sin(angle)
    columns = column + down * np.sin(angle) + right * np.cos(angle)
    places = (grid.astype("i8").clip(0, most - 1) for grid, most in zip((rows, columns), shape))
    pixels = photograph[tuple(places)] + rng.normal(0, NOISE, (size, size, 3))
    return np.asarray(pixels.clip(0, 255), "u1")


def source(number: int) -> int:
    """Return the number of the photograph that picture ``number`` is made from."""
    return number % len(load())
