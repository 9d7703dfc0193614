"""MPI's usual algorithms in the model of ``python -m tools.scale``.

They are the ones of MPICH and Open MPI for each routine, over all PEs without regard to nodes: binomial trees,
recursive doubling and halving, Bruck's rounds, rings and pairwise exchange (Thakur, Rabenseifner, Gropp: Optimization
of Collective Communication Operations in MPICH, 2005). The fastest algorithm of a routine counts, since a tuned MPI
would choose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Callable, NamedTuple

import numpy as np
import numpy.typing as npt

from ishmem import _core
from tools.scale import model as scale

Numbers = npt.NDArray[np.int64]


class Steps(NamedTuple):
    """Equal phases: the counts of one phase, as of `scale.rehearse`, and the number of phases."""

    counts: scale.Counts
    number: int = 1


class Job:
    """The PEs of a job, whose nodes are given in their order, with methods that count the messages of a phase."""

    def __init__(self, nodes: list[int]) -> None:
        """Store the node of each PE."""
        self.nodes, self.pes = np.asarray(nodes), len(nodes)
        self.width = int(np.max(np.bincount(self.nodes)))
        self.rounds = max(self.pes - 1, 0).bit_length()

    def send(self, origins: Numbers, targets: Numbers, nbytes: int, number: int = 1) -> Steps:
        """Return ``number`` phases in which each origin sends ``nbytes`` to its target."""
        counts = np.zeros((self.pes, _core.COUNTS), np.int64)
        far = self.nodes[origins] != self.nodes[targets]
        for kind, pes in ((scale.MESSAGES_OUT, origins), (scale.MESSAGES_IN, targets)):
            np.add.at(counts[:, kind], pes, far)
        for kind, pes in ((scale.BYTES_OUT, origins), (scale.BYTES_IN, targets)):
            np.add.at(counts[:, kind], pes, far * nbytes)
        half = scale.first_half(self.nodes)
        across = (self.nodes[origins] < half) != (self.nodes[targets] < half)
        np.add.at(counts[:, scale.BYTES_ACROSS], origins, across * nbytes)
        np.add.at(counts[:, scale.STORES], origins, ~far)
        np.add.at(counts[:, scale.NEAR], origins, ~far * nbytes)
        return Steps(counts, number)

    def shift(self, distance: int, nbytes: int, number: int = 1) -> Steps:
        """Return ``number`` phases in which each PE sends ``nbytes`` to the PE at a distance, cyclically."""
        pes = np.arange(self.pes)
        return self.send(pes, (pes + distance) % self.pes, nbytes, number)


def dissemination(job: Job, _size: int) -> Iterator[Steps]:
    """Yield the phases of a barrier by dissemination, in a logarithmic number of rounds."""
    yield from (job.shift(1 << k, 8) for k in range(job.rounds))


def binomial(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of a broadcast of the whole block along a binomial tree."""
    for k in range(job.rounds):
        have = np.arange(min(1 << k, job.pes - (1 << k)))
        yield job.send(have, have + (1 << k), size)


def scatter_and_ring(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of a broadcast by a scatter along a binomial tree and a ring allgather."""
    for k in reversed(range(job.rounds)):
        have = np.arange(0, job.pes - (1 << k), 2 << k)
        yield job.send(have, have + (1 << k), -(-size * (1 << k) // job.pes))
    yield job.shift(1, -(-size // job.pes), job.pes - 1)


def bruck_allgather(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of an allgather in a logarithmic number of rounds, in each of which the data double."""
    for k in range(job.rounds):
        yield job.shift(1 << k, min(1 << k, job.pes - (1 << k)) * size)


def ring(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of an allgather around a ring."""
    yield job.shift(1, size, job.pes - 1)


def bruck_alltoall(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of an all-to-all in a logarithmic number of rounds, in each of which half of the blocks move."""
    for k in range(job.rounds):
        yield job.shift(1 << k, sum(1 for i in range(job.pes) if i >> k & 1) * size)


def pairwise(job: Job, size: int) -> Iterator[Steps]:
    """Yield the phases of an all-to-all with one message per block, one phase for each distance."""
    edge = min(job.width, (job.pes - 1) // 2)
    for distance in (*range(1, edge + 1), *range(job.pes - edge, job.pes)):
        yield job.shift(distance, size)
    between = job.pes - 1 - 2 * edge  # all of their messages cross the network
    if between > 0:
        yield job.shift(edge + 1, size, between)


def _folded(job: Job, size: int, inner: Callable[[int], Iterable[Steps]]) -> Iterator[Steps]:
    """Yield the phases of ``inner`` on a power of two of PEs, and before and after it those that add the other PEs."""
    power = 1 << (job.pes.bit_length() - 1)
    rest = np.arange(job.pes - power)
    if rest.size:
        yield job.send(power + rest, rest, size)
    yield from inner(power)
    if rest.size:
        yield job.send(rest, power + rest, size)


def doubling(job: Job, size: int) -> Iterator[Steps]:
    """Return the phases of a reduction by recursive doubling: each round exchanges whole blocks."""

    def inner(power: int) -> Iterator[Steps]:
        pes = np.arange(power)
        yield from (job.send(pes, pes ^ (1 << k), size) for k in range(power.bit_length() - 1))

    return _folded(job, size, inner)


def halving_and_doubling(job: Job, size: int) -> Iterator[Steps]:
    """Return the phases of a reduction by recursive halving, then doubling (Rabenseifner)."""

    def inner(power: int) -> Iterator[Steps]:
        pes = np.arange(power)
        for k in range(power.bit_length() - 1):
            yield job.send(pes, pes ^ (power >> (k + 1)), -(-size >> (k + 1)), 2)

    return _folded(job, size, inner)


ALGORITHMS: dict[str, tuple[Callable[[Job, int], Iterator[Steps]], ...]] = {
    scale.BARRIER: (dissemination,),
    "broadcast": (binomial, scatter_and_ring),
    "fcollect": (bruck_allgather, ring),
    "alltoall": (bruck_alltoall, pairwise),
    "sum_reduce": (doubling, halving_and_doubling),
}
"""MPI's algorithms by routine of ishmem."""


def seconds(nodes: list[int], routine: str, size: int, links: scale.Links) -> float:
    """Return the time in seconds of the fastest algorithm of a routine with blocks of ``size`` bytes."""
    job = Job(nodes)
    times = []
    for algorithm in ALGORITHMS[routine]:
        steps = (scale.phase_seconds(each.counts, job.nodes, links) * each.number for each in algorithm(job, size))
        times.append(links.call + sum(steps))
    return min(times)
