"""The Kronecker graph of Graph500: random, with few vertices of many neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np

A, B, C = 0.57, 0.19, 0.19  # probabilities of three quadrants of the adjacency matrix, in each quadrant again


def make(scale: int, edges: int) -> Any:
    """Return the adjacency matrix, symmetric and without loops, in scipy's CSR format.

    Args:
        scale: Logarithm of the number of vertices.
        edges: Edges that are made for each vertex; some are loops or made twice.
    """
    from scipy import sparse

    rng, size = np.random.default_rng(2), 1 << scale
    ends = np.zeros((2, edges * size), "i8")
    for bit in range(scale):
        lower = rng.random(ends.shape[1]) > A + B
        right = rng.random(ends.shape[1]) > np.where(lower, C / (1 - A - B), A / (A + B))
        ends += np.stack([lower, right]).astype("i8") << bit
    ends = rng.permutation(size)[ends]
    ends = ends[:, ends[0] != ends[1]]
    graph = sparse.csr_matrix((np.ones(ends.shape[1], "i4"), tuple(ends)), (size, size))
    graph = (graph + graph.T).tocsr()
    graph.data[:] = 1
    return graph
