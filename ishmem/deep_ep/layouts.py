"""Layouts of sent and received tokens of a dispatch: `EPHandle` and the arrays in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ishmem import moe

from .callers import Caller
from .exchange import Arrival, TokenExchange, local_choices, rows_of


class DispatchOptions(NamedTuple):
    """Options of a dispatch without a handle, named as arguments; ``do_cpu_sync``: the host waits for the counts."""

    num_experts: int
    num_max_tokens_per_rank: int
    expert_alignment: int
    num_sms: int
    do_expand: bool
    do_cpu_sync: bool


class SentRoute(NamedTuple):
    """Exchange, choices of the tokens sent, and the PE of each choice, or -1 if another choice of the token has it."""

    exchange: TokenExchange
    topk_idx: Any
    pes: Any


class ReceivedLayout(NamedTuple):
    """Layout of the tokens that a dispatch has received, as device arrays.

    Attributes:
        route: The route of the tokens sent.
        handle: The handle of the exchange.
        recv_topk: Choices of each token received, as numbers of this PE's experts from 0, or -1.
        counts: Number of rows of each expert, without padding.
        places: After an expanded dispatch, the row of each choice in ``recv_topk``, or -1; else None.
        source: The inverse of ``places``: for each row the number of its choice in ``recv_topk``, or -1; or None.
    """

    route: SentRoute
    handle: moe.Handle
    recv_topk: Any
    counts: Any
    places: Any
    source: Any


class ReceivedTokens(NamedTuple):
    """Tokens received, their scales, choices (None if expanded) and weights, as dpnp arrays."""

    x: Any
    scales: Any
    topk_idx: Any
    topk_weights: Any


@dataclass
class EPHandle:
    """Handle of a dispatch, for its combines and for further dispatches to the same experts.

    Attributes:
        do_expand: Whether each token received has a row for each of its experts.
        num_experts, expert_alignment, num_max_tokens_per_rank, num_sms: Arguments of the dispatch.
        topk_idx: The experts of the tokens sent: a copy, unless ``do_handle_copy`` was false.
        num_recv_tokens: Number of tokens received: exact with ``do_cpu_sync``, else the largest possible number.
        num_expanded_tokens: Number of rows of all experts with padding: exact or largest possible in the same way.
        num_recv_tokens_per_expert_list: Number of rows of each expert of this rank with padding; empty without
            ``do_cpu_sync``.
        psum_num_recv_tokens_per_scaleup_rank: Number of tokens received from ranks 0 to ``i``, for each ``i``.
        psum_num_recv_tokens_per_expert: Number of padded rows of experts 0 to ``i``; after an expanded dispatch the end
            of the rows of expert ``i`` without padding.
        num_unaligned_recv_tokens_per_expert: Number of rows of each expert without padding.
        recv_src_metadata: For each token received ``rank * num_max_tokens_per_rank + token``, its choice there, and the
            row of each of its choices after an expanded dispatch, else -1: an array of int32.
        dst_buffer_slot_idx: The rank of each choice of the tokens sent, or -1 if another choice of a token has it.
        token_metadata_at_forward, channel_linked_list: None.
        layout: Layout of the tokens on the device.
    """

    do_expand: bool
    num_experts: int
    expert_alignment: int
    num_max_tokens_per_rank: int
    num_sms: int
    topk_idx: Any
    num_recv_tokens: int
    num_expanded_tokens: int
    num_recv_tokens_per_expert_list: list[int]
    psum_num_recv_tokens_per_scaleup_rank: Any
    psum_num_recv_tokens_per_expert: Any
    num_unaligned_recv_tokens_per_expert: Any
    recv_src_metadata: Any
    dst_buffer_slot_idx: Any
    token_metadata_at_forward: Any
    channel_linked_list: Any
    layout: ReceivedLayout



class _Numbers(NamedTuple):
    """Device arrays: rows of ranks 0 to ``i``; rows of each expert, these padded, and the first row of each expert."""

    ranks: Any
    counts: Any
    padded: Any
    starts: Any


def new_handle(caller: Caller, route: SentRoute, arrival: Arrival, options: DispatchOptions, topk_idx: Any) -> EPHandle:
    """Return a dispatch's handle, with experts ``topk_idx``; with ``do_cpu_sync`` it blocks until the counts arrive."""
    import dpnp

    exchange, alignment = route.exchange, options.expert_alignment
    experts, chosen = options.num_experts // exchange.team.n_pes(), arrival.beside[1]
    ranks = dpnp.cumsum(arrival.handle.layout[0, :, 1], dtype="int32")
    recv_topk = local_choices(chosen, exchange.team.my_pe() * experts, experts, ranks[-1])
    hits = recv_topk.reshape((-1, 1)) == dpnp.arange(experts, sycl_queue=chosen.sycl_queue)
    counts = hits.sum(axis=0, dtype="int32")
    padded = (counts + (alignment - 1)) // alignment * alignment
    starts = dpnp.cumsum(padded, dtype="int32") - padded
    numbers = _Numbers(ranks, counts, padded, starts)
    tokens, rows, by_expert = _sizes(numbers, options, exchange, recv_topk.shape[1])
    recv_topk, places, source = recv_topk[:tokens], None, None
    if options.do_expand:
        places = _places(recv_topk, hits[: recv_topk.size], starts)
        source = dpnp.full(rows + 1, -1, dtype="int64", sycl_queue=chosen.sycl_queue)
        source[dpnp.where(places < 0, rows, places).ravel()] = dpnp.arange(recv_topk.size, sycl_queue=chosen.sycl_queue)
        source = source[:rows]
    layout = ReceivedLayout(route, arrival.handle, recv_topk, counts, places, source)
    ends = starts + (counts if options.do_expand else padded)
    return EPHandle(
        options.do_expand, options.num_experts, alignment, options.num_max_tokens_per_rank, options.num_sms, topk_idx,
        tokens, rows, by_expert, caller.give(ranks), caller.give(ends), caller.give(counts),
        caller.give(_metadata(layout, options, ranks)), caller.give(route.pes.astype("int32")), None, None, layout,
    )  # fmt: skip


def _sizes(
    numbers: _Numbers, options: DispatchOptions, exchange: TokenExchange, topk: int
) -> tuple[int, int, list[int]]:
    """Return numbers of tokens received, rows, and rows by expert; without ``do_cpu_sync`` upper limits, empty list."""
    import dpnp

    if options.do_cpu_sync:
        found = dpnp.concatenate((numbers.ranks[-1:], numbers.padded)).asnumpy().tolist()
        return found[0], sum(found[1:]), found[1:]
    experts, alignment = numbers.counts.shape[0], options.expert_alignment
    most = exchange.team.n_pes() * exchange.max_tokens
    rows = most * min(topk, experts) + (alignment - 1) * experts
    return most, -(-rows // alignment) * alignment, []


def _places(recv_topk: Any, hits: Any, starts: Any) -> Any:
    """Return the row of each choice, -1 for none: experts' rows begin at ``starts``, in the order of the tokens."""
    import dpnp

    if not recv_topk.size:
        return recv_topk
    places = dpnp.where(hits, starts + dpnp.cumsum(hits, axis=0, dtype="int32") - 1, 0).sum(axis=1, dtype="int64")
    return dpnp.where(recv_topk >= 0, places.reshape(recv_topk.shape), -1)


def _metadata(layout: ReceivedLayout, options: DispatchOptions, ranks: Any) -> Any:
    """Return the array `EPHandle.recv_src_metadata`; ``ranks`` has the number of rows of ranks 0 to ``i``."""
    import dpnp

    tokens, topk = layout.recv_topk.shape
    index = dpnp.arange(tokens, sycl_queue=ranks.sycl_queue)
    rank = (index[:, None] >= ranks).sum(axis=1)
    origins = layout.handle.origins[0, :tokens]
    token = rank * options.num_max_tokens_per_rank + origins // topk
    columns = dpnp.where((index < ranks[-1])[:, None], dpnp.stack((token, origins % topk), axis=1), -1)
    places = dpnp.full_like(layout.recv_topk, -1) if layout.places is None else layout.places
    return dpnp.concatenate((columns, places), axis=1).astype("int32")


def received(handle: EPHandle, arrival: Arrival, zeroed: bool) -> ReceivedTokens:
    """Return the tokens of ``arrival`` in the layout of ``handle``; if ``zeroed``, padding rows of experts are zero."""
    import dpnp

    layout, tokens = handle.layout, handle.num_recv_tokens
    rows, (scales, _, weights) = arrival.rows, arrival.beside
    if layout.source is None:
        return ReceivedTokens(rows[:tokens], scales[:tokens], layout.recv_topk, weights[:tokens])
    token = dpnp.where(layout.source < 0, -1, layout.source // layout.recv_topk.shape[1])
    parts = [rows_of(token, rows), rows_of(token, scales)]
    parts.append(rows_of(layout.source, weights.ravel()) if weights.size else weights)
    if zeroed:
        filled = layout.source >= 0
        parts = [dpnp.where(filled[:, None] if each.ndim == 2 else filled, each, 0) for each in parts]
    return ReceivedTokens(parts[0], parts[1], None, parts[2])


def weights_of(layout: ReceivedLayout, weights: Any) -> Any:
    """Return the weight of each choice in ``layout.recv_topk``, 0 for -1; ``weights`` has one per row if expanded."""
    import dpnp

    taken = weights if layout.places is None else rows_of(layout.places, weights)
    return dpnp.where(layout.recv_topk >= 0, taken, dpnp.float32(0))
