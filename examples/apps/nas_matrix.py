"""The sparse matrix of NAS CG: a sum of outer products of random sparse vectors, with known eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

CONDITION = 0.1


def random_numbers() -> Iterator[float]:
    """Yield the random numbers of the NAS benchmarks."""
    seed = 314159265
    while True:
        seed = seed * 1220703125 % (1 << 46)
        yield seed / (1 << 46)


def sparse_vector(size: int, nonzeros: int, numbers: Iterator[float]) -> dict[int, float]:
    """Return a random vector as NAS CG makes it: element numbers and values."""
    vector: dict[int, float] = {}
    power = 1 << (size - 1).bit_length()
    while len(vector) < nonzeros:
        value, place = next(numbers), int(next(numbers) * power)
        if place < size and place not in vector:
            vector[place] = value
    return vector


def make(size: int, nonzeros: int, shift: float) -> Any:
    """Return the matrix, in scipy's CSR format."""
    from scipy import sparse

    numbers = random_numbers()
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    next(numbers)  # the benchmark draws one before
    for row in range(size):
        vector = {**sparse_vector(size, nonzeros, numbers), row: 0.5}
        rows += [row] * len(vector)
        columns += vector.keys()
        values += vector.values()
    vectors = sparse.csr_matrix((values, (rows, columns)), (size, size))
    weights = sparse.diags(CONDITION ** (np.arange(size) / size))
    return sparse.csr_matrix(vectors.T @ weights @ vectors + (CONDITION - shift) * sparse.identity(size))
