"""Random access (GUPS): atomic updates of random elements of a table that all PEs share."""

from __future__ import annotations

import functools
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

POLYNOMIAL = 7  # the random numbers are the powers of x modulo x**64 + x**2 + x + 1 over GF(2)
IN_FLIGHT = 64  # updates that a PE does at the same time; HPCC allows 1024


def times(a: int, b: int) -> int:
    """Return the product of two polynomials over GF(2), modulo that of the sequence; bit ``i`` is a coefficient."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a = (a << 1) ^ (((1 << 64) | POLYNOMIAL) * (a >> 63))
        b >>= 1
    return product


@functools.lru_cache
def number_at(index: int) -> int:
    """Return a number of the sequence: x to the power of ``index``."""
    value = 1
    for bit in f"{index:b}":
        value = times(value, value)
        value = times(value, 2) if bit == "1" else value
    return value


def starts(first: int, last: int, lanes: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Divide numbers ``first`` to ``last``, excluded, among lanes; return the number before each lane, and lengths."""
    lengths = np.diff([first + (last - first) * lane // lanes for lane in range(lanes + 1)])
    numbers = [number_at(first)]
    for length in lengths[:-1].tolist():
        numbers.append(times(numbers[-1], number_at(length)))
    return np.array(numbers, "u8").view("i8"), lengths


def following(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the next number of the sequence for each lane."""
    return np.asarray((numbers << 1) ^ np.where(numbers < 0, POLYNOMIAL, 0))


@dpex.kernel
def update(item: kapi.Item, table, numbers, lengths, mask, block):
    """Do the updates of one lane; elements have ``block`` to a PE, and ``mask`` selects the low bits of a number."""
    lane = item.get_id(0)
    number = numbers[lane]
    for _ in range(lengths[lane]):
        number = (number << 1) ^ (POLYNOMIAL if number < 0 else 0)
        place = number & mask
        ishmem.atomic_xor(table, number, place // block, place % block)


@dataclass(frozen=True)
class Gups(App):
    """Random access (GUPS): atomic updates of random elements of a table that all PEs share.

    The sequence and the verification are those of HPCC. Each PE has 64 updates in flight, a work-item each, which do
    one ``atomic_xor`` after another inside the kernel.
    """

    log2: int = option(16, "logarithm of the number of elements in the table of all PEs")
    updates: int = option(4, "updates for each element")

    name = "gups"
    title = "Random access (GUPS)"
    differs = True

    @classmethod
    def small(cls) -> list[App]:
        return [cls(log2=10, updates=3)]

    @classmethod
    def scaled(cls, n: int) -> Gups:
        return cls(log2=14 + n.bit_length() - 1, updates=4)

    @property
    def elements(self) -> int:
        """Elements of the table."""
        return 1 << self.log2

    def part(self, run: Run) -> tuple[int, int]:
        """Return the part of the sequence that a PE applies: begin, and end, which is excluded."""
        total = self.elements * self.updates
        return total * run.pe // run.n_pes, total * (run.pe + 1) // run.n_pes

    def run(self, run: Run) -> dict[str, Any]:
        blocks = Blocks(self.elements, run.n_pes)
        table = ishmem.arange(run.pe * blocks.size, (run.pe + 1) * blocks.size, dtype="i8")
        numbers, lengths = (dpnp.asarray(each) for each in starts(*self.part(run), IN_FLIGHT))
        with run.timed(), run.communication():
            items = kapi.Range(IN_FLIGHT)
            dpex.call_kernel(update, items, table, numbers, lengths, self.elements - 1, blocks.size)
        return {"table": run.gathered(table, blocks.counts), "block": blocks.size}

    def check(self, result: dict[str, Any]) -> str:
        table, total = result["table"].copy(), self.elements * self.updates
        numbers, lengths = starts(0, total, 1024)
        for step in range(max(lengths)):  # the same updates again lead back to the start
            numbers = following(numbers)
            used = numbers[step < lengths]
            np.bitwise_xor.at(table, used & (self.elements - 1), used)
        errors = int(np.count_nonzero(table != np.arange(self.elements)))
        require(errors == 0, f"{errors} of {self.elements} elements are wrong; atomic updates lose none")
        return f"{total} updates, no error in {self.elements} elements"

    def draw(self, figure: Figure, result: dict[str, Any], run: Run) -> None:
        side = 1 << self.log2 // 2
        picture = result["table"].view("u8")[: side * (self.elements // side)].reshape(-1, side)
        left, right = figure.subplots(1, 2)
        left.imshow(picture >> np.uint64(56), cmap="viridis", aspect="auto", interpolation="nearest")
        for edge in range(result["block"], self.elements, result["block"]):
            left.axhline(edge / side - 0.5, color="white", linewidth=2)
        left.set(title="The table after the updates (highest byte)", xticks=[], yticks=[])
        right.hist((picture >> np.uint64(56)).ravel(), bins=64, color="#0068b5")
        right.set(title=f"{self.elements * self.updates} updates", xlabel="highest byte", ylabel="elements")
