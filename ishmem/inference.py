"""Collectives for inference: one kernel launch per call, without blocking the host and without a barrier.

Engines that split a model over GPUs reduce small tensors a hundred times per token. A `Communicator` does so with one
kernel per PE. The kernel puts each word of the data together with the number of the call into symmetric memory of the
peers, whose kernels poll these words. PEs need load and store access to each other, but no atomics, so it works over
PCIe as well as over Xe Link.

Arrays may be private or symmetric, of float32 or float16; arrays of int16 or uint16 with ``dtype="bfloat16"`` are
bfloat16. Sums are computed in float32 in the order of the members and rounded once, so they have the same bits on all
PEs and in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dpctl
import numpy as np

from ishmem import interop, memory, reductions
from ishmem.common.errors import IshmemError
from ishmem.common.inference import (
    CALL,
    CHUNK,
    GROUPS,
    LEAST_GROUPS,
    ONE_SHOT,
    ONE_SHOT_BYTES,
    PIECE,
    SLOTS,
    TEAM,
    WORD,
    workspace_words,
)
from ishmem.kernel_calls import KernelCalls, device_array, flat, same_queue
from ishmem.on_queue import Depends
from ishmem.runtime import agreement, check, graph_recording, job
from ishmem.runtime.queue_workers import events_of
from ishmem.teams import TEAM_WORLD, Team, find
from ishmem.work_groups import max_work_groups

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = ["Communicator", "all_reduce_work_group"]

WORK_ITEMS = 256

_BITS = {2: "uint16", 4: "uint32"}
_DTYPES = ("float32", "float16", "bfloat16")


class Communicator(KernelCalls):
    """Symmetric memory and a call counter for collectives of a team.

    As a context manager it is freed on exit, unless an exception ended the block. All PEs of the team make the same
    calls in the same order; a call starts when the previous one on this PE has completed. Operations of dpnp on the
    queue of a call run before or after it, in program order. Before all other accesses, and before those of dpnp with
    numba-dpex, wait for the call's event.

    Attributes:
        nbytes: Size in bytes of the largest message: of the array of ``all_reduce``, and of the larger one of
            ``all_gather`` and ``reduce_scatter``.
        team: The PEs of the communicator.
        last: Event of the last call or replay of one, after which the next call starts; None before the first call.

    Example:
        >>> with ishmem.inference.Communicator(1 << 20) as tp:
        ...     x = dpnp.full(1000, me, dtype="f2")
        ...     tp.all_reduce(x).wait()
        ...     bool((x == n * (n - 1) // 2).all())
        True
    """

    _KIND = "communicator"

    def __init__(self, nbytes: int, team: Team = TEAM_WORLD, *, one_shot_nbytes: int = ONE_SHOT_BYTES) -> None:
        """Allocate memory: 8 * ``nbytes``, or if larger 4 * ``min(nbytes, one_shot_nbytes)`` for each PE of the team.

        Collective over all PEs of the job, blocking; teams of equal size may each have a communicator.

        Args:
            nbytes: Size in bytes of the largest message.
            team: The PEs of the communicator.
            one_shot_nbytes: All-reduces of up to this size are one-shot: each PE sends its whole message to all others.
                Longer ones are two-shot: a reduce-scatter, then an all-gather. Messages of at most 1 KiB times the
                number of PEs are always one-shot.

        Raises:
            ValueError: ``nbytes`` is not positive, ``ptr`` reaches not all PEs of the team, or this PE is not in it.
            TypeError: ``nbytes`` or ``one_shot_nbytes`` is not an integer, or ``team`` is not a team.
            IshmemError: Kernels must not wait for other PEs: PEs share a GPU that does not run their kernels together.
            HeapExhausted, SymmetryError, StateError, PeerLost: As for ``empty``.
        """
        def checked() -> int:
            self.nbytes, self.team = check.integer(nbytes, "nbytes"), find(team)
            self._left = self.team
            if self.nbytes < 1:
                raise ValueError(f"nbytes is {nbytes}; allowed are positive sizes")
            _check_reach(self.team)
            self._members = self.team.n_pes()
            cutover = check.integer(one_shot_nbytes, "one_shot_nbytes") // WORD
            self._one_shot_words = max(cutover, self._members * PIECE)  # two-shot: each PE has a piece
            return workspace_words(-(-self.nbytes // WORD), self._members, self._one_shot_words)

        def sizes(_: int) -> str:
            return f"{self.nbytes} bytes, one-shot to {WORD * self._one_shot_words} bytes"

        words, _ = agreement.check_and_agree(job.current(), "Communicator", checked, sizes)
        workspace = memory.zeros(words, dtype="int64")
        header = interop.host_view(workspace[: SLOTS // 8])
        for offset, value in (
            (CALL, 1), (TEAM, self.team.handle), (ONE_SHOT, self._one_shot_words), (GROUPS, max_work_groups()),
        ):  # fmt: skip
            header[offset // 8] = value
        least, own = (workspace[offset // 8 : offset // 8 + 1] for offset in (LEAST_GROUPS, GROUPS))
        reductions.min_reduce(least, own, self.team)
        self._most_groups = int(header[LEAST_GROUPS // 8])
        super().__init__([workspace])

    @property
    def workspace(self) -> ndarray:
        """The argument ``workspace`` of `all_reduce_work_group`, for kernels; ``StateError`` once it was freed."""
        self._check_callable()
        return self._workspace[0]

    def all_reduce(
        self, x: ndarray, out: ndarray | None = None, *, dtype: str | None = None, depends: Depends = None
    ) -> dpctl.SyclEvent:
        """Sum ``x`` elementwise over the PEs of the team, in place or into ``out``.

        Collective over the team, not blocking: one kernel on the queue of ``x``.

        Args:
            x: Device array in C order, of float32 or float16, of one size on all PEs, of at most ``nbytes`` bytes.
            out: Device array in C order of the size and dtype of ``x``; by default ``x``.
            dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default the dtype of ``x``.
            depends: Events that must have completed before the kernel starts.

        Returns:
            The event of the kernel; without elements no kernel runs, and it is the event of the last call.

        Raises:
            TypeError: Not device arrays, or of another dtype.
            ValueError: Arrays that are not contiguous, too long, of different sizes, or on different queues.
            StateError: Freed, or not between ``init`` and ``finalize``.
            PeerLost: A PE of the team is lost, in a job that continues after losses.

        Source: MPI_Allreduce; the one-shot and two-shot all-reduce of vLLM and torch's symmetric memory.
        """
        source, dest, kind = self._pair(x, "x", x if out is None else out, "out", dtype)
        _check_size("out", dest.count, source.count)
        words = _words(source, source.count)
        chunk = CHUNK if words <= self._one_shot_words else PIECE * self._members
        return self._collective("all_reduce", kind, dest, source, source.count, -(-words // chunk), depends)

    def all_gather(
        self, x: ndarray, out: ndarray, *, dtype: str | None = None, depends: Depends = None
    ) -> dpctl.SyclEvent:
        """Concatenate ``x`` of all PEs of the team, in the order of the members, in ``out`` of every PE.

        Collective over the team, not blocking: one kernel on the queue of ``x``.

        Args:
            x: As for ``all_reduce``.
            out: Contiguous device array of the dtype of ``x``, with as many elements as ``x`` of all PEs together, of
                at most ``nbytes`` bytes.
            dtype: As for ``all_reduce``.
            depends: As for ``all_reduce``.

        Returns:
            As for ``all_reduce``.

        Raises:
            TypeError, ValueError, StateError, PeerLost: As for ``all_reduce``.

        Source: MPI_Allgather; ishmem_fcollect.
        """
        source, dest, kind = self._pair(x, "x", out, "out", dtype)
        _check_size("out", dest.count, source.count * self._members)
        return self._collective("all_gather", kind, dest, source, source.count, _chunks(source, source.count), depends)

    def reduce_scatter(
        self, x: ndarray, out: ndarray, *, dtype: str | None = None, depends: Depends = None
    ) -> dpctl.SyclEvent:
        """Sum ``x`` elementwise over the PEs of the team, and store block ``i`` of the sum in ``out`` of member ``i``.

        Collective over the team, not blocking: one kernel on the queue of ``x``.

        Args:
            x: As for ``all_reduce``; its size is a multiple of the number of PEs.
            out: Contiguous device array of the dtype of ``x`` and the size of a block. It may not overlap ``x``.
            dtype: As for ``all_reduce``.
            depends: As for ``all_reduce``.

        Returns:
            As for ``all_reduce``.

        Raises:
            TypeError, ValueError, StateError, PeerLost: As for ``all_reduce``.

        Source: MPI_Reduce_scatter_block.
        """
        source, dest, kind = self._pair(x, "x", out, "out", dtype)
        _check_size("x", source.count, dest.count * self._members)
        return self._collective("reduce_scatter", kind, dest, source, dest.count, _chunks(dest, dest.count), depends)

    def all_reduce_add_rms_norm(
        self, x: ndarray, residual: ndarray, weight: ndarray, eps: float = 1e-6, out: ndarray | None = None, *,
        dtype: str | None = None, depends: Depends = None,
    ) -> dpctl.SyclEvent:  # fmt: skip
        """Sum ``x`` over the PEs, add the sum to ``residual``, and store the weighted RMS norm of each row in ``out``.

        ``residual += sum of x``, then ``out = residual / sqrt(mean(residual ** 2, axis=-1) + eps) * weight``.
        Collective over the team, not blocking: one kernel on the queue of ``x``, always one-shot.

        Args:
            x: As for ``all_reduce``; its rows, along the last axis, have a multiple of 4 bytes. It has at most
                ``one_shot_nbytes`` bytes, or ``nbytes`` divided by the number of PEs, if that is more.
            residual: Contiguous device array of the size and dtype of ``x``, equal on all PEs; updated in place.
            weight: Contiguous device array of the dtype of ``x`` and the length of a row.
            eps: Number added to the mean square.
            out: Contiguous device array of the size and dtype of ``x``; by default ``x``.
            dtype: As for ``all_reduce``.
            depends: As for ``all_reduce``.

        Returns:
            As for ``all_reduce``.

        Raises:
            TypeError, ValueError, StateError, PeerLost: As for ``all_reduce``; ValueError also for such rows or sizes.

        Source: the fused all-reduce, residual and RMSNorm of vLLM and TensorRT-LLM.
        """
        source, dest, kind = self._pair(x, "x", x if out is None else out, "out", dtype)
        rest, _, _ = self._pair(residual, "residual", x, "x", dtype)
        weights, _, _ = self._pair(weight, "weight", x, "x", dtype)
        row = source.shape[-1] if source.shape else 1
        self._check_rows(source, row)
        for each, wanted in ((dest, source.count), (rest, source.count), (weights, row)):
            _check_size(each.name, each.count, wanted)
        from ishmem.kernels.communicator import add_rms_norm_kernel

        rows = source.count // max(row, 1)
        return self._launch(
            add_rms_norm_kernel(kind), rows, row, (dest, source, rest, weights),
            (source.count, rows, np.float32(1 / max(row, 1)), np.float32(eps)), depends,
        )  # fmt: skip

    def _pair(
        self, first: Any, first_name: str, second: Any, second_name: str, dtype: str | None
    ) -> tuple[check.View, check.View, str]:
        """Check two arrays of a call; return views of both, and their dtype, which is "bfloat16" if ``dtype`` is."""
        self._check_callable()
        kinds = check.stored_types(dtype, _DTYPES)
        given = ((first, first_name), (second, second_name))
        views = [device_array(array, name, kinds, "Communicator") for array, name in given]
        for each in views:
            self._check_message(each)
        check.same_dtype(views[1], views[0])
        check.writable(views[1])
        same_queue(*views)
        return views[0], views[1], dtype or views[0].dtype

    def _check_rows(self, x: check.View, row: int) -> None:
        nbytes, most = x.count * x.itemsize, max(self._one_shot_words * WORD, self.nbytes // self._members)
        if row * x.itemsize % WORD:
            raise ValueError(f"a row of x has {row} elements, {row * x.itemsize} bytes; allowed are multiples of 4")
        if nbytes > most:
            raise ValueError(f"x has {nbytes} bytes; allowed are {most}, or nbytes of {self._members} times x")

    def _check_message(self, array: check.View) -> None:
        name, nbytes = array.name, array.count * array.itemsize
        if nbytes > self.nbytes:
            raise ValueError(f"{name} has {nbytes} bytes; this communicator takes {self.nbytes}")

    def _collective(
        self, name: str, dtype: str, dest: check.View, source: check.View, nelems: int, chunks: int, depends: Depends
    ) -> dpctl.SyclEvent:  # fmt: skip
        from ishmem.kernels.communicator import kernel_of

        return self._launch(kernel_of(name, dtype), chunks, nelems, (dest, source), (nelems,), depends)

    def _launch(
        self, kernel: Any, chunks: int, most: int, given: tuple[check.View, ...], numbers: tuple[Any, ...],
        depends: Depends,
    ) -> dpctl.SyclEvent:  # fmt: skip
        """Submit ``kernel`` on arrays ``given`` and ``numbers``, for ``chunks`` chunks of at most ``most`` elements.

        Its work-groups all run at the same time, and each sends all of its chunks before it waits, so a waiting
        work-group cannot delay a send. Returns the kernel's event; without chunks that of the last call.
        """
        events = events_of(depends)
        if not chunks:
            recorded = graph_recording.of(given[0].array.sycl_queue)
            return dpctl.SyclEvent() if recorded else self.last or dpctl.SyclEvent()
        items = WORK_ITEMS if most > WORK_ITEMS // 8 else WORK_ITEMS // 8
        passed = [*(flat(each.array, _BITS[each.itemsize]) for each in given), *numbers]
        return self._submit(kernel, min(chunks, self._most_groups), items, passed, events)


def all_reduce_work_group(dest: ndarray, source: ndarray, workspace: ndarray, group: Any) -> None:
    """Sum ``source`` over the PEs of a communicator into ``dest``; all work-groups of a kernel call once.

    Collective over the team of the communicator: all its PEs launch a kernel with equally many work-groups of one size.
    The launch counts as a call of the communicator: it starts after the event of the previous call, and its event goes
    into ``depends`` of the next call. A work-group reads and writes elements of all parts of the arrays, so other
    launches must write ``source`` and read ``dest``.

    Args:
        dest: Contiguous array of the size and dtype of ``source``; it may be ``source``.
        source: Contiguous array of float32, float16, or 16-bit integers that hold bfloat16; of one size on all PEs.
        workspace: ``Communicator.workspace`` of a communicator whose ``nbytes`` are at least those of ``source``.
        group: The work-group.

    Raises:
        TypeError: Called on the host.

    Source: ``Communicator.all_reduce``; the in-kernel all-reduce of vLLM for Intel GPUs.
    """
    raise TypeError("ishmem.inference.all_reduce_work_group is called inside kernels only")


def _words(array: check.View, count: int) -> int:
    return -(-count * array.itemsize // WORD)


def _chunks(array: check.View, count: int) -> int:
    return -(-_words(array, count) // CHUNK)


def _check_size(name: str, count: int, wanted: int) -> None:
    if count != wanted:
        raise ValueError(f"{name} has {count} elements; it needs {wanted}")


def _check_reach(team: Team) -> None:
    this = job.current()
    if this.no_waits:
        raise IshmemError(f"the calls of a Communicator are kernels that wait: {this.no_waits}")
    far = [pe for pe in map(team.shape.pe, range(team.n_pes())) if not this.heap.reaches(pe)]
    if far:
        raise ValueError(f"loads and stores do not reach PE {far[0]} of the team; allowed are PEs that ptr reaches")
