"""Helpers of denoise.py without SHMEM: load a photograph, add noise, denoise serially, measure, draw."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.cbook
import matplotlib.image
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def sample() -> Path:
    """Return the path of matplotlib's sample photograph, of Grace Hopper."""
    return Path(matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False))


def load(path: Path) -> np.ndarray:
    """Load a photograph as rows x columns x channels of float32 from 0 to 1; another file ends the program."""
    try:
        picture = matplotlib.image.imread(path)
    except (OSError, SyntaxError, ValueError) as error:
        raise SystemExit(f"{Path(sys.argv[0]).name}: cannot load {path}: {error}") from None
    if picture.dtype.kind == "u":
        picture = picture / np.float32(np.iinfo(picture.dtype).max)
    if picture.ndim == 2:
        picture = picture[..., None]
    colours = 3 if picture.shape[2] > 2 else 1  # without the alpha channel
    return np.ascontiguousarray(picture[..., :colours], dtype="f4")


def add_noise(picture: np.ndarray, deviation: float) -> np.ndarray:
    """Return the picture with Gaussian noise of a standard deviation, the same in every call, cut to 0 to 1."""
    noise = np.random.default_rng(0).normal(0, deviation, picture.shape)
    return (picture + noise).clip(0, 1).astype("f4")


def psnr(picture: np.ndarray, original: np.ndarray) -> float:
    """Return the peak signal-to-noise ratio of a picture in dB; infinite if it equals the original."""
    with np.errstate(divide="ignore"):
        return float(-10 * np.log10(np.mean((picture - original) ** 2)))


def denoise_serially(picture: np.ndarray, iterations: int, kappa: float, rate: np.float32) -> np.ndarray:
    """Do what denoise.py does, with numpy alone: the same operations on each pixel, in the same order."""
    threshold = np.float32(kappa**2)
    for _ in range(iterations):
        down, right = _flow(picture, 0, threshold), _flow(picture, 1, threshold)
        picture = picture + rate * ((down[1:] - down[:-1]) + (right[:, 1:] - right[:, :-1]))
    return picture


def _flow(picture: np.ndarray, axis: int, threshold: np.float32) -> np.ndarray:
    """Return the flow between each pixel and the previous one along an axis; zero at the ends."""
    difference, total = np.diff(picture, axis=axis), threshold
    for channel in range(picture.shape[2]):
        total = total + difference[..., channel] * difference[..., channel]
    ends = [(int(axis == 0),) * 2, (int(axis == 1),) * 2, (0, 0)]
    return np.pad((threshold / total)[..., None] * difference, ends)


def draw(path: Path, original: np.ndarray, noisy: np.ndarray, denoised: np.ndarray, block: int) -> None:
    """Draw the pictures to a file, the denoised one with the boundaries of the PEs' blocks of ``block`` rows."""
    height, width = original.shape[:2]
    figure = Figure(figsize=(15, 5 * height / width + 0.5), dpi=120, layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    left.set_title(f"Noisy, {psnr(noisy, original):.1f} dB", fontsize=16)
    middle.set_title(f"Denoised, {psnr(denoised, original):.1f} dB", fontsize=16)
    right.set_title("Original", fontsize=16)
    for axes, picture in zip((left, middle, right), (noisy, denoised, original)):
        axes.imshow(picture.clip(0, 1).squeeze(-1 if picture.shape[2] == 1 else ()), cmap="gray", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
    _mark_blocks(middle, [*range(0, height, block), height])
    figure.savefig(path, bbox_inches="tight", pad_inches=0.1)


def _mark_blocks(axes: Axes, edges: list[int]) -> None:
    axes.set_yticks([edge - 0.5 for edge in edges], [""] * len(edges))
    centres = [(low + high - 1) / 2 for low, high in zip(edges, edges[1:])]
    names = [f"PE {pe}" for pe in range(len(centres))]
    axes.set_yticks(centres, names, minor=True, rotation=90, va="center", fontsize=12)
    axes.tick_params(which="major", length=14)
    axes.tick_params(which="minor", length=0)
