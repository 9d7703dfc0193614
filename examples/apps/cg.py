"""Conjugate gradients on a sparse matrix (NAS CG): kernels get the elements of the vector from their PEs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dpnp
import numpy as np

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.examples.apps import nas_matrix
from ishmem.examples.apps.frame import App, Blocks, Run, option, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUP = 64  # work-items of the group that works on the vectors
STEPS = 25  # of conjugate gradients in an iteration
CLASS_S = (1400, 7, 10.0, 15)
ZETA_OF_CLASS_S = 8.5971775078648
SQUARE, CHANGE, NEXT = 0, 1, 2  # elements of `sums`: r.r, p.q and the new r.r


@dpex.device_func
def dot(group, item_id, a, b, parts):
    """Leave this PE's part of the dot product in ``parts[0]``."""
    total = 0.0
    for i in range(item_id, a.size, GROUP):
        total += a[i] * b[i]
    parts[item_id] = total
    kapi.group_barrier(group)
    if item_id == 0:
        for other in range(1, GROUP):
            parts[0] += parts[other]
    kapi.group_barrier(group)


@dpex.device_func
def advance(item_id, a, factor, b):
    """Add ``factor`` times ``b`` to ``a``."""
    for i in range(item_id, a.size, GROUP):
        a[i] += factor * b[i]


@dpex.device_func
def turn(group, item_id, p, r, sums):
    """Compute the next direction."""
    for i in range(item_id, p.size, GROUP):
        p[i] = r[i] + sums[NEXT] / sums[SQUARE] * p[i]
    kapi.group_barrier(group)
    if item_id == 0:
        sums[SQUARE] = sums[NEXT]


@dpex.kernel
def multiply(item: kapi.Item, q, p, values, owners, places, starts):
    """Multiply a row of the matrix by ``p``, whose elements are on all PEs."""
    row, total = item.get_id(0), 0.0
    for k in range(starts[row], starts[row + 1]):
        total += values[k] * ishmem.g(p, owners[k], places[k])
    q[row] = total


@dpex.device_func
def add_up(group, item_id, total, parts, together):
    """Add up the parts of all PEs, or take this PE's."""
    if together:
        ishmem.sum_reduce_work_group(total, parts[:1], group)
    else:
        if item_id == 0:
            total[0] = parts[0]
        kapi.group_barrier(group)


@dpex.kernel
def step(item: kapi.NdItem, p, q, r, z, parts, sums, together):
    """Do what follows the multiplication in a step, with the sums over all PEs."""
    group, item_id = item.get_group(), item.get_local_id(0)
    dot(group, item_id, p, q, parts)
    add_up(group, item_id, sums[CHANGE:NEXT], parts, together)
    advance(item_id, z, sums[SQUARE] / sums[CHANGE], p)
    advance(item_id, r, -sums[SQUARE] / sums[CHANGE], q)
    dot(group, item_id, r, r, parts)
    add_up(group, item_id, sums[NEXT:], parts, together)
    turn(group, item_id, p, r, sums)
    if together:
        ishmem.barrier_all_work_group(group)  # `p` is complete on all PEs before any gets it


@dataclass(frozen=True)
class Cg(App):
    """Conjugate gradients on a sparse matrix (NAS CG): kernels get the elements of the vector from their PEs.

    The matrix is that of the NAS benchmark; the defaults are its class S. Each PE owns a block of rows. Its kernels get
    the elements of the vector one by one with ``g`` and compute the dot products of all PEs with ``sum_reduce``.
    """

    size: int = option(CLASS_S[0], "rows of the matrix")
    nonzeros: int = option(CLASS_S[1], "elements of the random vectors that the matrix is made of")
    shift: float = option(CLASS_S[2], "the eigenvalues are shifted by this number")
    iterations: int = option(CLASS_S[3], "iterations of the power method, of 25 steps each")

    name = "cg"
    title = "Conjugate gradients (NAS CG)"
    fused = True

    @classmethod
    def small(cls) -> list[App]:
        return [cls(size=101, nonzeros=3, iterations=2)]

    @classmethod
    def scaled(cls, n: int) -> Cg:
        return cls(size=3500 * n, nonzeros=8, shift=12.0, iterations=2)

    def matrix(self) -> Any:
        """Return the matrix, in scipy's CSR format."""
        return nas_matrix.make(self.size, self.nonzeros, self.shift)

    def zetas(self, run: Run, count: int, solve: Any, add: Any) -> list[float]:
        """Run the power method; ``solve`` solves for this PE's part of a vector, ``add`` adds up numbers of all PEs."""
        x, zetas = np.ones(count), []
        for _ in run.steps(range(self.iterations), "power method"):
            z = solve(x, add([x @ x])[0])
            xz, zz = add([x @ z, z @ z])
            zetas.append(float(self.shift + 1 / xz))
            x = z / np.sqrt(zz)
        return zetas

    def run(self, run: Run) -> list[float]:
        blocks, one_group = Blocks(self.size, run.n_pes), kapi.NdRange((GROUP,), (GROUP,))
        mine = self.matrix()[blocks.part(run.pe)]
        count, columns = blocks.counts[run.pe], mine.indices.astype("i8")
        owners = columns // blocks.size if run.communicates else np.full_like(columns, run.pe)
        rows = [dpnp.asarray(each) for each in (mine.data, owners, columns % blocks.size, mine.indptr.astype("i8"))]
        p, q, r, z = (ishmem.zeros(blocks.size, dtype="f8") for _ in range(4))
        parts, sums, pair = (ishmem.zeros(length, dtype="f8") for length in (GROUP, 3, 2))

        def add(numbers: list[float]) -> Any:
            pair[: len(numbers)] = dpnp.asarray(numbers)
            with run.communication():
                ishmem.sum_reduce(pair, pair)
            return pair.asnumpy()

        def solve(x: np.ndarray[Any, Any], square: float) -> Any:
            p[:count], r[:count], z[...], sums[SQUARE] = dpnp.asarray(x), dpnp.asarray(x), 0, square
            with run.communication():
                ishmem.barrier_all()
            for _ in range(STEPS):
                if count:
                    dpex.call_kernel(multiply, kapi.Range(count), q, p, *rows)
                dpex.call_kernel(step, one_group, p, q, r, z, parts, sums, int(run.communicates))
            return z.asnumpy()[:count]

        with run.timed():
            return self.zetas(run, count, solve, add)

    def check(self, result: list[float]) -> str:
        from scipy.sparse import linalg

        matrix, x, wanted = -self.matrix(), np.ones(self.size), []  # positive definite
        for _ in range(self.iterations):
            z = -linalg.cg(matrix, x, rtol=1e-13)[0]
            wanted.append(self.shift + 1 / (x @ z))
            x = z / np.linalg.norm(z)
        require(np.allclose(result, wanted, rtol=1e-9, atol=0), f"the eigenvalues are {result}, with scipy {wanted}")
        if (self.size, self.nonzeros, self.shift, self.iterations) != CLASS_S:
            return f"zeta {result[-1]:.10g}, as with scipy's solver"
        require(abs(result[-1] - ZETA_OF_CLASS_S) < 1e-10, f"zeta is {result[-1]}; NAS says {ZETA_OF_CLASS_S}")
        return f"zeta {result[-1]:.13g}, as NAS says for class S"

    def draw(self, figure: Figure, result: list[float], run: Run) -> None:
        left, right = figure.subplots(1, 2)
        matrix = self.matrix().tocoo()
        left.scatter(matrix.col, matrix.row, s=0.02, c=matrix.row // Blocks(self.size, run.n_pes).size, cmap="tab10")
        left.set(title=f"{matrix.nnz} nonzero elements on {run.n_pes} PEs", aspect="equal", xticks=[], yticks=[])
        left.invert_yaxis()
        changes = np.abs(np.diff(result))
        right.semilogy(range(2, len(result) + 1), np.maximum(changes, 1e-16), marker="o", color="#0068b5")
        right.set(title=f"Convergence to {result[-1]:.10f}", xlabel="iteration", ylabel="change of the eigenvalue")
        right.grid(alpha=0.3)
