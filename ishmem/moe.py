"""Mixture of experts: dispatch sends tokens to the PEs of their experts, combine returns the outputs, as in DeepEP.

Each PE has an equal part of the experts, in order of their numbers. A `Buffer` sends each token to the experts that a
router chose for it, and adds their outputs with the router's weights. A call is one kernel per PE: it puts rows
directly to their destination and then updates a flag there, without blocking the host and without a barrier. The host's
proxy transfers rows to PEs that loads and stores do not reach, such as those of other nodes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, Union

import dpctl
import numpy as np

from ishmem import interop, memory, reductions
from ishmem.common import moe
from ishmem.common.errors import IshmemError, StateError
from ishmem.kernel_calls import KernelCalls, Results, device_array, flat, same_queue
from ishmem.on_queue import Depends
from ishmem.runtime import agreement, check, graph_recording, job
from ishmem.runtime.queue_workers import events_of
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = ["Buffer", "Handle"]

LEAST_WORK_ITEMS, MOST_WORK_ITEMS, SENDING_WORK_ITEMS = 64, 256, 4096
"""Limits on the work-items of a work-group, and of all groups that send. Barriers of small groups take less time."""

_device_array = functools.partial(device_array, routine="Buffer")

_INDICES = ("int32", "int64")
_WEIGHTS = ("float32",)
_OUTPUTS = ("float32", "float16", "bfloat16")

Tokens = Union["ndarray", "tuple[ndarray, ndarray]"]
Hook = Callable[[], dpctl.SyclEvent]


@dataclass(frozen=True)
class Handle:
    """Data of a dispatch for its combine.

    Attributes:
        layout: First row and number of rows that each expert received from each PE: an array of int32 [local experts,
            PEs, 2].
        origins: For each row, its token and choice on the PE that sent it, as ``token * choices + choice``: an array of
            int32 [local experts, PEs * max_tokens].
        choices: The experts of the tokens of this PE: ``topk_idx``. After ``dispatch``, the PEs of these experts, each
            PE once and -1 for its repetitions; the arrays above then have one list per PE in place of the experts.
        rows: Number of rows per expert in the array of the tokens received.
        rounds: After a ``dispatch`` in several rounds: for each its handle, and an array of int64 with the rows of the
            round's tokens in the array of all tokens received; else empty.
        masks: Number of calls of ``Buffer.mask`` before the dispatch.
    """

    layout: ndarray
    origins: ndarray
    choices: ndarray
    rows: int
    rounds: tuple[tuple[Handle, ndarray], ...] = ()
    masks: int = 0


@dataclass(frozen=True)
class _Work:
    """A call: its name, its kernel with the arguments, and the numbers of units of work that send and that receive."""

    call: str
    kernel: Any
    arrays: list[Any]
    numbers: tuple[int, ...]
    senders: int
    receivers: int


class Buffer(KernelCalls):
    """Symmetric memory and call counters for dispatch and combine over a team.

    As a context manager it is freed on exit, unless an exception ended the block. All PEs of the team make the same
    calls in the same order; a call starts when the previous one on this PE has completed. Operations of dpnp on the
    queue of a call run before or after it, in program order. Before all other accesses, and before those of dpnp with
    numba-dpex, wait for the call's event.

    Attributes:
        max_tokens: Largest number of tokens of a PE in a call; ``dispatch`` sends more in rounds of ``max_tokens``.
        hidden: Number of elements of a token.
        num_experts: Number of experts on all PEs; those of PE ``i`` of the team begin at ``i * num_experts // n_pes``.
        topk: Largest number of experts that a token may choose.
        team: The PEs of the buffer.
        last: Event of the last call or replay of one, after which the next call starts; None before the first call.

    Example:
        >>> topk_idx, weights = dpnp.full((3, 1), (me + 1) % n), dpnp.full((3, 1), 0.5, dtype="f4")
        >>> with ishmem.moe.Buffer(max_tokens=3, hidden=8, num_experts=n, topk=1) as experts:
        ...     x = dpnp.full((3, 8), me, dtype="f4")
        ...     recv_x, recv_count, handle, _, _ = experts.low_latency_dispatch(x, topk_idx)
        ...     combined, event, _ = experts.low_latency_combine(recv_x, topk_idx, weights, handle)
        ...     event.wait()
        ...     bool((combined == me / 2).all()), recv_x.shape == (1, 3 * n, 8), int(recv_count[0])
        (True, True, 3)
    """

    _KIND = "buffer"

    def __init__(
        self, max_tokens: int, hidden: int, num_experts: int, topk: int, team: Team = TEAM_WORLD,
        *, dtype: str = "float32",
    ) -> None:  # fmt: skip
        """Allocate the memory: ``2 * max_tokens * (num_experts + topk)`` rows, each for one token of ``dtype``.

        Collective over all PEs of the job, blocking; teams of equal size may each have a buffer.

        Args:
            max_tokens: Largest number of tokens of a PE in a call; the same on all PEs, as the next three.
            hidden: Number of elements of a token.
            num_experts: Number of experts on all PEs, a multiple of the number of PEs.
            topk: Largest number of experts that a token may choose.
            team: The PEs of the buffer.
            dtype: The widest dtype of tokens and outputs: "float32", "float16" or "bfloat16"; the last two halve the
                memory. A row also has room for tokens of one byte per element with their scales.

        Raises:
            ValueError: A number that is not positive, experts that the PEs cannot share equally, or this PE is not in
                the team.
            TypeError: A number that is not an integer, another dtype, or ``team`` is not a team.
            IshmemError: Kernels of this job must not wait for other PEs.
            HeapExhausted, SymmetryError, StateError, PeerLost: As for ``empty``.
        """
        def checked() -> tuple[int, ...]:
            if dtype not in _OUTPUTS:
                raise TypeError(f"dtype is {dtype!r}; allowed are {', '.join(_OUTPUTS)}")
            self.max_tokens, self.hidden = _positive(max_tokens, "max_tokens"), _positive(hidden, "hidden")
            self.num_experts, self.topk = _positive(num_experts, "num_experts"), _positive(topk, "topk")
            self.team = self._left = find(team)
            self._members = self.team.shape.size
            if self.num_experts % self._members:
                raise ValueError(f"num_experts is {num_experts}; allowed are multiples of {self._members}, the PEs")
            if job.current().no_waits:
                raise IshmemError(f"the calls of a Buffer are kernels that wait: {job.current().no_waits}")
            return self.max_tokens, self.hidden, self.num_experts, self.topk

        agreement.check_and_agree(job.current(), "Buffer", checked, lambda sizes: f"sizes {sizes} of {dtype}")
        self._experts: Any = None  # where the tokens for each expert go, once some are lost
        self._masks = 0
        self._local = self.num_experts // self._members
        self._row = moe.row_bytes(self.hidden * (4 if dtype == "float32" else 2), self.topk)
        super().__init__(self._allocate())
        self._results = Results()
        self._pending: dict[str, Hook] = {}

    def _allocate(self) -> tuple[Any, ...]:
        """Allocate and return the symmetric arrays with the layout of `ishmem.common.moe`: rows, words and flags."""
        outputs = self.max_tokens * self.topk
        nbytes, n_words, n_flags = moe.sizes(self.num_experts, self.max_tokens, outputs, self._row)
        rows, words = memory.empty(nbytes, dtype="uint8"), memory.zeros(n_words, dtype="int64")
        given = {moe.LISTS: self.num_experts, moe.MAX_TOKENS: self.max_tokens, moe.OUTPUTS: outputs, moe.ROW: self._row}
        given |= {moe.DISPATCHES: 1, moe.COMBINES: 1}
        for index, value in given.items():
            words[index] = value
        return rows, words, memory.zeros(n_flags, dtype="uint64")

    def mask(self, team: Team, reroute: Any = None) -> None:
        """Continue with the remaining PEs of the buffer's team after a loss: later calls exclude the lost PEs.

        Collective over the remaining PEs, blocking: it waits for this PE's last call. Tokens for experts of lost PEs
        are dropped, and count as 0 in a combine, or go to other experts. Earlier handles become invalid.

        Args:
            team: The remaining PEs: the result of ``ishmem.shrink``.
            reroute: List with an entry for every expert: for those of lost PEs the expert on a remaining PE that
                receives their tokens, or -1; other entries are ignored. By default these tokens are dropped.

        Raises:
            ValueError: A PE that is not in the buffer's team, or a wrong ``reroute``.
            StateError: Freed, or not between ``init`` and ``finalize``.
            PeerLost: A further PE is lost.

        Source: DeepEP, Buffer.low_latency_update_mask_buffer.
        """
        self._check_alive()
        left = [self.team.shape.index(pe) for pe in find(team).shape]
        if -1 in left:
            raise ValueError(f"team is {team!r}; it has PEs that the buffer's team does not have")
        lost = sorted(set(range(self._members)) - set(left))
        self._experts = self._routes(lost, reroute)
        if self.last is not None:
            self.last.wait()
        self._left, self._masks = team, self._masks + 1
        words = interop.host_view(self._workspace[1])
        for call, number in (("dispatch", moe.DISPATCHES), ("combine", moe.COMBINES)):
            words[number] = self._largest(int(words[number]) + (call in self._pending))
        self._pending.clear()
        flags = interop.host_view(self._workspace[2]).reshape(4, -1)
        for member in lost:
            flags[:2, member :: self._members] = flags[3, member] = moe.NEVER_SENDS
            flags[2, member * self._local : (member + 1) * self._local] = moe.NEVER_SENDS

    def _routes(self, lost: list[int], reroute: Any) -> np.ndarray[Any, Any]:
        """Return, by chosen expert, the expert that receives its tokens, or -1; the last entry is -1, for no expert."""
        experts = np.arange(self.num_experts)
        gone = np.isin(experts // self._local, lost)
        targets = np.full_like(experts, -1) if reroute is None else np.asarray(reroute)
        if targets.shape != experts.shape or not np.isin(targets[gone], [-1, *experts[~gone]]).all():
            allowed = f"an expert that is left, or -1, for each of {experts[gone].tolist()}, whose PEs are lost"
            raise ValueError(f"reroute is {reroute!r}; allowed is a list of {self.num_experts} numbers, {allowed}")
        return np.append(np.where(gone, targets, experts), -1)

    def _routed(self, indices: check.View) -> check.View:
        """Return the choices ``indices``, with experts of lost PEs replaced by their substitutes or -1."""
        if self._experts is None:
            return indices
        import dpnp

        chosen = dpnp.asarray(indices.array)
        routes = dpnp.asarray(self._experts, dtype=chosen.dtype, sycl_queue=chosen.sycl_queue)
        is_one = (chosen >= 0) & (chosen < self.num_experts)
        return _device_array(dpnp.take(routes, dpnp.where(is_one, chosen, self.num_experts)), "topk_idx", _INDICES)

    def low_latency_dispatch(
        self, x: Tokens, topk_idx: ndarray, *, return_recv_hook: bool = False, depends: Depends = None
    ) -> tuple[Tokens, ndarray, Handle, dpctl.SyclEvent, Hook]:
        """Send each token to its experts, and receive the tokens of this PE's experts.

        Collective over the team, not blocking: one kernel on the queue of ``x``, or two with ``return_recv_hook``.

        Args:
            x: Contiguous device array [tokens, hidden] of any dtype, or a pair of such an array and its scales [tokens,
                any number], which are sent too: for instance tokens of float8 as uint8, with scales of float32.
            topk_idx: Contiguous device array [tokens, choices] of int32 or int64: the experts of each token. An expert
                chosen twice receives the token once. -1 means none, and so do numbers without an expert, which raise
                with ``ISHMEM_CHECK=1``.
            return_recv_hook: Whether to send only, and to receive when the hook is called, before the next dispatch.
            depends: Events that must have completed before the kernel starts.

        Returns:
            The tokens received, [local experts, PEs * max_tokens, hidden], or a pair of them and their scales; an int32
            array with the number of tokens of each local expert, which fill its first rows in the order of PEs and of
            tokens; a handle for the combine; the event of the kernel; and the hook, which starts the receiving kernel
            and returns its event. Without ``return_recv_hook`` the first kernel also receives.

        Raises:
            TypeError: Not device arrays, or of another dtype.
            ValueError: Arrays that are not contiguous, of other shapes or on different queues, too many tokens or
                choices, rows that are too long, or with ``ISHMEM_CHECK=1`` experts that do not exist.
            StateError: The last hook was not called, the buffer was freed, or not between ``init`` and ``finalize``.
            PeerLost: A PE of the call is lost, in a job that continues after losses.

        Source: DeepEP, Buffer.low_latency_dispatch.
        """
        self._check_ready("dispatch")
        tokens, scales = self._tokens(x, self.max_tokens)
        indices = self._choices(topk_idx, tokens.shape[0])
        same_queue(tokens, scales, indices)
        self._check_experts(indices, depends)
        received, counts, handle, work = self._dispatch(self._local, tokens, scales, self._routed(indices))
        event, hook = self._start(work, return_recv_hook, depends)
        return (received if isinstance(x, tuple) else received[0]), counts, handle, event, hook

    def low_latency_combine(
        self, y: ndarray, topk_idx: ndarray, topk_weights: ndarray, handle: Handle, out: ndarray | None = None, *,
        dtype: str | None = None, return_recv_hook: bool = False, depends: Depends = None,
    ) -> tuple[ndarray, dpctl.SyclEvent, Hook]:  # fmt: skip
        """Send the outputs of this PE's experts to the tokens' PEs, and store the weighted sum for each own token.

        The sum is computed in float32 in the order of a token's choices and rounded once; it is 0 for a token without
        experts. Collective over the team, not blocking: as for ``low_latency_dispatch``.

        Args:
            y: Contiguous device array of the shape of the tokens received, of float32, float16, or bfloat16 as 16-bit
                integers: the expert's output for each token.
            topk_idx: As passed to the dispatch.
            topk_weights: Contiguous device array of float32 of the shape of ``topk_idx``.
            handle: The handle that the dispatch returned; several combines may use it.
            out: Contiguous device array [tokens, hidden] of the dtype of ``y``; by default a new one.
            dtype: "bfloat16" for arrays of 16-bit integers that hold its bits; by default the dtype of ``y``.
            return_recv_hook: Whether to send only, and to receive when the hook is called, before the next combine.
            depends: Events that must have completed before the kernel starts.

        Returns:
            ``out``, the event of the kernel, and the hook, as for ``low_latency_dispatch``.

        Raises:
            TypeError, ValueError, StateError, PeerLost: As for ``low_latency_dispatch``; ValueError: ``topk_idx`` has
                another shape than in the dispatch; StateError: the handle is of a dispatch before ``mask``.

        Source: DeepEP, Buffer.low_latency_combine.
        """
        self._check_ready("combine")
        kind, outputs = self._outputs(y, "y", (self._local, self._members * self.max_tokens, self.hidden), dtype)
        indices = _device_array(topk_idx, "topk_idx", _INDICES)
        weights = _device_array(topk_weights, "topk_weights", _WEIGHTS)
        for each in (indices, weights):
            _check_shape(each, tuple(handle.choices.shape))
        out, work = self._combine(kind, outputs, self._routed(indices), weights, handle, out)
        event, hook = self._start(work, return_recv_hook, depends)
        return out, event, hook

    def get_dispatch_layout(self, topk_idx: ndarray) -> tuple[ndarray, ndarray, ndarray]:
        """Count the tokens that ``dispatch`` would send to each PE and each expert, and mark the tokens for each PE.

        Not collective, not blocking: operations of dpnp on the queue of ``topk_idx``.

        Args:
            topk_idx: As for ``low_latency_dispatch``.

        Returns:
            Numbers of tokens, int32 [PEs] and int32 [experts], and bool [tokens, PEs]: whether a PE receives a token.

        Raises:
            TypeError, ValueError, StateError: As for ``low_latency_dispatch``.
            IshmemError: The queue is being recorded in a graph.

        Source: DeepEP, Buffer.get_dispatch_layout.
        """
        import dpnp

        self._check_alive()
        indices = self._choices(topk_idx)
        graph_recording.refuse(indices.array.sycl_queue, "get_dispatch_layout")
        self._check_experts(indices, None)
        return layout_of(dpnp.asarray(self._routed(indices).array), self.num_experts, self._members)

    def dispatch(
        self, x: Tokens, topk_idx: ndarray, topk_weights: ndarray, *, depends: Depends = None
    ) -> tuple[Tokens, ndarray, ndarray, list[int], Handle]:
        """Send each token, with choices and weights, once to each PE with one of its experts, and receive tokens.

        Collective over the team, blocking until the tokens for this PE have arrived; in several rounds if a PE has more
        than ``max_tokens`` tokens.

        Args:
            x: As for ``low_latency_dispatch``, of any number of tokens.
            topk_idx: As for ``low_latency_dispatch``.
            topk_weights: Contiguous device array of float32 of the shape of ``topk_idx``.
            depends: Events that must have completed before the kernel starts.

        Returns:
            The tokens received, [tokens received, hidden], or a pair of them and their scales, in the order of PEs and
            of tokens; their choices, as numbers of this PE's experts from 0, or -1 for experts of other PEs; their
            weights; a list with the number of tokens of each expert of this PE; and a handle for ``combine``.

        Raises:
            TypeError, ValueError, StateError, PeerLost: As for ``low_latency_dispatch``.
            IshmemError: The queue is being recorded in a graph.

        Source: DeepEP, Buffer.dispatch.
        """
        import dpnp

        self._check_ready("dispatch")
        tokens, scales = self._tokens(x, None)
        indices = self._choices(topk_idx, tokens.shape[0])
        weights = _device_array(topk_weights, "topk_weights", _WEIGHTS)
        _check_shape(weights, indices.shape)
        same_queue(tokens, scales, indices, weights)
        graph_recording.refuse(tokens.array.sycl_queue, "dispatch")
        for event in events_of(depends):
            event.wait()
        self._check_experts(indices, None)
        sides = [each.array for each in (scales, self._routed(indices), weights)]
        n_rounds = self._agree_on_rounds(tokens.shape[0])
        rounds = [self._round(number, tokens.array, sides) for number in range(n_rounds)]
        rows, beside, handle = rounds[0] if n_rounds == 1 else self._join(rounds)
        factors, chosen, shares = parted(beside, sides)
        local = chosen - self.team.my_pe() * self._local
        mine = dpnp.where((local >= 0) & (local < self._local), local, -1)
        on_host = mine.asnumpy()
        lengths = [int((on_host == expert).any(axis=1).sum()) for expert in range(self._local)]
        return ((rows, factors) if isinstance(x, tuple) else rows), mine, shares, lengths, handle

    def combine(
        self, x: ndarray, handle: Handle, out: ndarray | None = None, *, dtype: str | None = None,
        depends: Depends = None,
    ) -> tuple[ndarray, dpctl.SyclEvent]:  # fmt: skip
        """Send a row for each token received to the token's PE, and store the sum of the rows of each own token.

        The sum is computed in float32 in the order in which a token chose the PEs, and rounded once; it is 0 for a
        token without experts. Collective over the team, not blocking: a kernel for each round, on the queue of ``x``.

        Args:
            x: Contiguous device array of the shape of the tokens received, of float32, float16, or bfloat16 as 16-bit
                integers: the weighted sum of the outputs of this PE's experts for each token.
            handle: The handle that ``dispatch`` returned.
            out: As for ``low_latency_combine``.
            dtype: As for ``low_latency_combine``.
            depends: Events that must have completed before the kernel starts.

        Returns:
            ``out`` and the event of the last kernel.

        Raises:
            TypeError, ValueError, StateError, IshmemError, PeerLost: As for ``dispatch`` and ``low_latency_combine``.

        Source: DeepEP, Buffer.combine.
        """
        import dpnp

        self._check_ready("combine")
        kind, outputs = self._outputs(x, "x", (handle.rows, self.hidden), dtype)
        graph_recording.refuse(outputs.array.sycl_queue, "combine")
        if not handle.rounds:
            return self._combine_round(kind, outputs, handle, out, depends)
        dest = self._output(outputs, (handle.choices.shape[0], self.hidden), out)
        first, whole, event = 0, dpnp.asarray(outputs.array), None
        for each, places in handle.rounds:
            end, rows = first + each.choices.shape[0], dpnp.take(whole, places, axis=0)
            part = dest.array[first:end]
            event = self._combine_round(kind, _device_array(rows, "x"), each, part, depends)[1]
            first = end
        assert event
        return dest.array if out is None else out, event

    def _combine_round(
        self, kind: str, outputs: check.View, handle: Handle, out: Any, depends: Depends, biases: Sequence[Any] = ()
    ) -> tuple[Any, dpctl.SyclEvent]:
        """Start the combine of a ``dispatch`` or of a round of one, and add ``biases``; return output and event."""
        import dpnp

        indices = _device_array(handle.choices, "the choices of the handle")
        ones = dpnp.ones(indices.shape, dtype="float32", sycl_queue=indices.array.sycl_queue)
        out, work = self._combine(kind, outputs, indices, _device_array(ones, "weights"), handle, out, biases)
        return out, self._start(work, False, depends)[0]

    def _agree_on_rounds(self, tokens: int) -> int:
        """Return the number of rounds for the largest ``tokens`` of any PE, at least 1; collective, blocking."""
        return self._largest(max(-(-tokens // self.max_tokens), 1))

    def _largest(self, number: int) -> int:
        """Return the largest ``number`` of all remaining PEs; collective over them, blocking."""
        words = self._workspace[1]
        interop.host_view(words)[moe.ROUNDS] = number
        most = words[moe.MOST_ROUNDS : moe.MOST_ROUNDS + 1]
        reductions.max_reduce(most, words[moe.ROUNDS : moe.ROUNDS + 1], self._left)
        return int(interop.host_view(most)[0])

    def _round(self, number: int, tokens: Any, sides: list[Any]) -> tuple[Any, Any, Handle]:
        """Send the tokens of a round with the rows of ``sides``; return tokens and bytes received, and the handle."""
        first = min(number * self.max_tokens, tokens.shape[0])
        own = slice(first, first + self.max_tokens) if first < tokens.shape[0] else slice(0, 0)
        pes = self._pes_of(_device_array(sides[1][own], "topk_idx"))
        rows, beside, counts, handle, event = self._send(tokens[own], [each[own] for each in sides], pes)
        event.wait()
        count = int(counts[0])
        return rows[:count], beside[:count], replace(handle, rows=count)

    def _send(
        self, tokens: Any, sides: list[Any], pes: check.View
    ) -> tuple[Any, Any, Any, Handle, dpctl.SyclEvent]:
        """Send tokens with the rows of ``sides`` to ``pes``; return arrays for both, their count, handle and event."""
        beside = _device_array(_joined(sides), "the scales and choices of x")
        received, counts, handle, work = self._dispatch(1, _device_array(tokens, "x"), beside, pes)
        return received[0][0], received[1][0], counts, handle, self._start(work, False, None)[0]

    def _join(self, rounds: list[tuple[Any, Any, Handle]]) -> tuple[Any, Any, Handle]:
        """Return the joined results of several calls of `_round`, with rows in the order of PEs and a common handle."""
        import dpnp

        handles, queue = [handle for _, _, handle in rounds], rounds[0][0].sycl_queue
        layouts = np.stack([each.layout.asnumpy()[0] for each in handles])  # [rounds, PEs, 2]
        ends = np.cumsum([each.rows for each in handles])
        starts = layouts[:, :, 0] + (ends - [each.rows for each in handles])[:, None]
        lists = zip(starts.T.ravel(), layouts[:, :, 1].T.ravel())  # by PE, then by round
        order = np.concatenate([np.arange(start, start + length) for start, length in lists])
        places = np.argsort(order)
        on_device = dpnp.asarray(order, sycl_queue=queue)
        both = zip(*(each[:2] for each in rounds))
        joined = [dpnp.take(dpnp.concatenate(parts), on_device, axis=0) for parts in both]
        of_rounds = [dpnp.asarray(each, sycl_queue=queue) for each in np.split(places, ends[:-1])]
        step = self.max_tokens * handles[0].choices.shape[1]
        origins = dpnp.concatenate([each.origins[0, : each.rows] + i * step for i, each in enumerate(handles)])
        lengths = layouts[:, :, 1].sum(axis=0)
        layout = np.stack([np.cumsum(lengths) - lengths, lengths], axis=1)[None].astype(np.int32)
        whole = Handle(
            dpnp.asarray(layout, sycl_queue=queue), dpnp.take(origins, on_device)[None],
            dpnp.concatenate([each.choices for each in handles]), len(order), tuple(zip(handles, of_rounds)),
        )  # fmt: skip
        return joined[0], joined[1], whole

    def _dispatch(
        self, lists: int, tokens: check.View, scales: check.View, indices: check.View
    ) -> tuple[tuple[Any, Any], Any, Handle, _Work]:
        """Return arrays for the tokens and scales received, their counts, the handle and the work of a dispatch.

        Each PE receives ``lists`` lists: one, or one for each of its experts. ``indices`` has the lists of each token.
        """
        from ishmem.kernels.moe import dispatch_kernel

        nbytes, beside = _row_bytes(tokens), _row_bytes(scales)
        if nbytes + beside > self._row:
            what = f"a row of x has {nbytes} bytes and {beside} beside it"
            raise ValueError(f"{what}; this buffer takes {self._row} in all")
        queue, rows = tokens.array.sycl_queue, self._members * self.max_tokens
        shapes = (lists,), (lists, self._members, 2), (lists, rows)
        counts, layout, origins = (self._results.empty(shape, "int32", queue) for shape in shapes)
        received = tuple(
            self._results.empty((lists, rows, *each.shape[1:]), each.storage, queue) for each in (tokens, scales)
        )
        given = [bits(each) for each in (tokens.array, scales.array)] + [flat(indices.array, indices.dtype)]
        given += [bits(each) for each in received] + [flat(each, "int32") for each in (counts, layout, origins)]
        handle = Handle(layout, origins, indices.array, rows, masks=self._masks)
        numbers, units = (*indices.shape, lists, nbytes, beside), lists * self._members
        work = _Work("dispatch", dispatch_kernel(), given, numbers, units, units)
        return (received[0], received[1]), counts, handle, work

    def _combine(
        self, kind: str, outputs: check.View, indices: check.View, weights: check.View, handle: Handle, out: Any,
        biases: Sequence[Any] = (),
    ) -> tuple[Any, _Work]:  # fmt: skip
        """Return the output of a combine with ``kind``, its dtype, and its work; ``biases`` are added to the sums."""
        import dpnp

        from ishmem.kernels.moe import combine_kernel

        if handle.masks != self._masks:
            raise StateError("the handle is of a dispatch before Buffer.mask, whose tokens may be lost; dispatch again")
        lists, shape = handle.layout.shape[0], (indices.shape[0], outputs.shape[-1])
        dest = self._output(outputs, shape, out)
        same_queue(outputs, indices, weights, dest)
        given = [bits(outputs.array), *(flat(each, "int32") for each in (handle.layout, handle.origins))]
        given += [flat(indices.array, indices.dtype), flat(weights.array, "float32"), bits(dest.array)]
        given.append(bits(dpnp.concatenate(biases)) if biases else given[-1])
        numbers, units = (*indices.shape, lists, _row_bytes(outputs), 0), lists * self._members
        work = _Work("combine", combine_kernel(kind, len(biases)), given, numbers, units, indices.shape[0] + 1)
        return dest.array if out is None else out, work

    def _output(self, outputs: check.View, shape: tuple[int, ...], out: Any) -> check.View:
        """Return the array for the result of a combine: ``out`` after checks, or a new one if it is None."""
        queue = outputs.array.sycl_queue
        dest = _device_array(self._results.empty(shape, outputs.storage, queue) if out is None else out, "out")
        _check_shape(dest, shape)
        if out is not None:
            check.same_dtype(dest, outputs)
        check.writable(dest)
        return dest

    def _start(self, work: _Work, later: bool, depends: Depends) -> tuple[dpctl.SyclEvent, Hook]:
        """Submit a call, if ``later`` without the receiving part; return its event and the hook, which submits that."""
        events, both = events_of(depends), work.senders + work.receivers
        if not later:
            event = self._launch(work, 0, both, events)
            return event, lambda: event

        def hook() -> dpctl.SyclEvent:
            self._check_callable()
            if self._pending.get(work.call) is not hook:
                raise StateError(f"this hook of a {work.call} was called before")
            event = self._launch(work, work.senders, both, [])
            del self._pending[work.call]
            return event

        event = self._launch(work, 0, work.senders, events)
        self._pending[work.call] = hook
        return event, hook

    def _launch(self, work: _Work, first: int, end: int, events: list[dpctl.SyclEvent]) -> dpctl.SyclEvent:
        """Submit a kernel with a work-group for each unit ``first`` to ``end - 1`` of a call; return its event."""
        ends = int(end == work.senders + work.receivers)
        arguments = [*work.arrays, self.team.handle, ends, first, *work.numbers]
        items = min(max(SENDING_WORK_ITEMS // work.senders, LEAST_WORK_ITEMS), MOST_WORK_ITEMS) // 32 * 32
        return self._submit(work.kernel, end - first, items, arguments, events)

    def _check_ready(self, call: str) -> None:
        self._check_callable()
        if call in self._pending:
            raise StateError(f"the hook of the last {call} was not called; call it before the next {call}")

    def _tokens(self, x: Any, most: int | None) -> tuple[check.View, check.View]:
        """Check tokens, at most ``most`` unless None; return them and their scales, [tokens, 0] if ``x`` has none."""
        given, scales = x if isinstance(x, tuple) else (x, None)
        tokens = _device_array(given, "x")
        too_many = most is not None and tokens.shape[:1] > (most,)
        if len(tokens.shape) != 2 or tokens.shape[1] != self.hidden or too_many:
            wanted = f"[tokens, {self.hidden}]{'' if most is None else f' with at most {most} tokens'}"
            raise ValueError(f"x has shape {tokens.shape}; allowed are {wanted}")
        if scales is None:
            scales = _empty((tokens.shape[0], 0), "float32", tokens.array.sycl_queue)
        factors = _device_array(scales, "the scales of x")
        _check_shape(factors, (tokens.shape[0], factors.shape[-1] if factors.shape else 0))
        return tokens, factors

    def _pes_of(self, indices: check.View, last: bool = False) -> check.View:
        """Return the PE of each choice, or -1 if an earlier (with ``last`` a later) choice of the token has that PE."""
        import dpnp

        chosen = dpnp.asarray(indices.array)
        pes = dpnp.where((chosen >= 0) & (chosen < self.num_experts), chosen // self._local, -1)
        before = dpnp.tril(dpnp.ones((pes.shape[1],) * 2, dtype=bool, sycl_queue=pes.sycl_queue), k=-1)
        repeated = ((pes[:, :, None] == pes[:, None, :]) & (before.T if last else before)).any(axis=2)
        return _device_array(dpnp.where(repeated, -1, pes), "the PEs of topk_idx", _INDICES)

    def _choices(self, topk_idx: Any, tokens: int | None = None) -> check.View:
        """Return a view of ``topk_idx`` after checking dtype and shape, ``tokens`` rows unless None."""
        choices = _device_array(topk_idx, "topk_idx", _INDICES)
        wrong = len(choices.shape) != 2 or not 1 <= choices.shape[1] <= self.topk
        if wrong or tokens not in (None, choices.shape[0]):
            wanted = f"[{'tokens' if tokens is None else tokens}, choices] with 1 to {self.topk} choices"
            raise ValueError(f"topk_idx has shape {choices.shape}; allowed are {wanted}")
        return choices

    def _outputs(self, array: Any, name: str, shape: tuple[int, ...], dtype: str | None) -> tuple[str, check.View]:
        """Check an array of ``shape`` with expert outputs or sums of them; return its dtype and a view of it."""
        outputs = _device_array(array, name, check.stored_types(dtype, _OUTPUTS))
        _check_shape(outputs, shape)
        if self.hidden * outputs.itemsize > self._row:
            wanted = self.hidden * outputs.itemsize
            raise ValueError(f"a row of {name} has {wanted} bytes; this buffer takes {self._row}")
        return dtype or outputs.dtype, outputs

    def _check_experts(self, indices: check.View, depends: Depends) -> None:
        """With ``ISHMEM_CHECK`` and outside a recording, wait for ``depends`` and check the numbers of experts."""
        if not job.current().settings.check or graph_recording.of(indices.array.sycl_queue):
            return
        for event in events_of(depends):
            event.wait()
        import dpnp

        numbers = dpnp.asnumpy(indices.array)
        wrong = np.argwhere((numbers < -1) | (numbers >= self.num_experts))
        if wrong.size:
            token, choice = wrong[0]
            which = f"topk_idx[{token}, {choice}] is {numbers[token, choice]}"
            raise ValueError(f"{which}; experts are numbered 0 to {self.num_experts - 1}, and -1 is none")


def layout_of(chosen: Any, num_experts: int, members: int) -> tuple[ndarray, ndarray, ndarray]:
    """Return the result of ``get_dispatch_layout`` for choices ``chosen``; ``members`` is the number of PEs."""
    import dpnp

    experts, pes = (
        (each[:, :, None] == dpnp.arange(count, sycl_queue=each.sycl_queue)).any(axis=1)
        for each, count in ((chosen, num_experts), (chosen // (num_experts // members), members))
    )
    return pes.sum(axis=0, dtype="int32"), experts.sum(axis=0, dtype="int32"), pes


def _positive(value: Any, name: str) -> int:
    number = check.integer(value, name)
    if number < 1:
        raise ValueError(f"{name} is {number}; allowed are positive numbers")
    return number


def _check_shape(array: check.View, wanted: tuple[int, ...]) -> None:
    if array.shape != wanted:
        raise ValueError(f"{array.name} has shape {array.shape}; it needs {wanted}")


def _row_bytes(array: check.View) -> int:
    return array.shape[-1] * array.itemsize


def _empty(shape: tuple[int, ...], dtype: str, queue: dpctl.SyclQueue) -> Any:
    import dpnp

    return dpnp.empty(shape, dtype=dtype, sycl_queue=queue)


def bits(array: Any) -> Any:
    """Return a 1-D dpctl array of the bytes of a contiguous device array, without a copy."""
    return flat(array, "uint8")


def _joined(rows: list[Any]) -> Any:
    """Return a uint8 array whose row ``i`` has the bytes of row ``i`` of each of the 2-D arrays ``rows``."""
    import dpnp

    shapes = [(each.shape[0], each.shape[1] * each.dtype.itemsize) for each in rows]
    return dpnp.concatenate([dpnp.asarray(bits(each)).reshape(shape) for each, shape in zip(rows, shapes)], axis=1)


def parted(joined: Any, like: list[Any]) -> list[Any]:
    """Return copies of the arrays that `_joined` has made ``joined`` of, with the dtypes and columns of ``like``."""
    import dpnp

    parts, first = [], 0
    for each in like:
        end = first + each.shape[1] * each.dtype.itemsize
        part = dpnp.array(joined[:, first:end], order="C") if end > first else joined[:, :0]
        parts.append(dpnp.asarray(flat(part, each.dtype)).reshape((joined.shape[0], each.shape[1])))
        first = end
    return parts
