"""Uses V1 and V2 of DeepEP's interface on tensors of a process group: each expert returns its tokens as they are."""

import torch
import torch.distributed as dist

import ishmem.deep_ep as deep_ep

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, n = dist.get_rank(), dist.get_world_size()
tokens, hidden, topk, experts = 12 - rank, 512, 3, 4 * n
torch.manual_seed(rank)
x = torch.randn((tokens, hidden)).bfloat16()
weights, topk_idx = torch.topk(torch.rand((tokens, experts)), topk)
topk_idx = topk_idx.to(deep_ep.topk_idx_t)
ranks = torch.stack([(topk_idx // 4 == pe).any(dim=1) for pe in range(n)], dim=1).sum(dim=1, keepdim=True)


def near(found, wanted, tolerance=0.01):
    assert found.dtype == wanted.dtype and (found.float() - wanted.float()).abs().max() <= tolerance, found - wanted


def dequantised(pair):
    scales = pair[1] if pair[1].dtype == torch.float32 else (pair[1].view(torch.uint8).int() << 23).view(torch.float32)
    return (pair[0].float().unflatten(-1, (-1, 128)) * scales.unsqueeze(-1)).flatten(-2).bfloat16()


def elastic():
    buffer = deep_ep.ElasticBuffer(dist.group.WORLD, num_max_tokens_per_rank=12, hidden=hidden, num_topk=topk)
    for expand in (False, True):
        args = {"num_experts": experts, "do_expand": expand, "async_with_compute_stream": True}
        recv_x, idx, recv_weights, handle, event = buffer.dispatch(x, topk_idx, weights, **args)
        event.current_stream_wait()
        assert recv_x.dtype == x.dtype and (idx is None if expand else idx.dtype == torch.int64)
        out, out_weights, event = buffer.combine(recv_x, handle, topk_weights=recv_weights, bias=x)
        event.current_stream_wait(release_handle=True)
        near(out, (x.float() * (1 + (topk if expand else ranks))).bfloat16(), 0.1)
        assert torch.equal(out_weights, weights) and handle.topk_idx.equal(topk_idx)
        assert torch.equal(buffer.dispatch(x, handle=handle, do_expand=expand)[0], recv_x)
    buffer.destroy()


def legacy():
    buffer = deep_ep.Buffer(dist.group.WORLD, int(1e6), explicitly_destroy=True)
    per_rank, per_node, per_expert, in_rank, event = buffer.get_dispatch_layout(topk_idx, experts)
    recv_x, idx, recv_weights, lengths, handle, event = buffer.dispatch(
        x, topk_idx=topk_idx, topk_weights=weights, num_tokens_per_rank=per_rank, is_token_in_rank=in_rank,
        num_tokens_per_rdma_rank=per_node, num_tokens_per_expert=per_expert, async_finish=True,
        config=deep_ep.Buffer.get_dispatch_config(n), previous_event=buffer.capture(),
    )  # fmt: skip
    event.current_stream_wait()
    assert lengths == [(idx == expert).sum().item() for expert in range(4)]
    out, out_weights, _ = buffer.combine(recv_x, handle, topk_weights=recv_weights)
    near(out, (x.float() * ranks).bfloat16(), 0.1)
    assert torch.equal(out_weights, weights)
    for names in ({"use_fp8": False}, {}, {"round_scale": True, "use_ue8m0": True}):
        packed, counts, handle, _, hook = buffer.low_latency_dispatch(
            x, topk_idx, 12, experts, return_recv_hook=True, **names
        )
        hook()
        y = packed if isinstance(packed, torch.Tensor) else dequantised(packed)
        buffer.get_next_low_latency_combine_buffer(handle)[:] = y
        out, event, _ = buffer.low_latency_combine(y, topk_idx, weights, handle, zero_copy=True, async_finish=True)
        event.current_stream_wait()
        sums = (x.float() * weights.sum(dim=1, keepdim=True)).bfloat16()
        near(out, sums, 0.05 if isinstance(packed, torch.Tensor) else 0.5)
        assert counts.dtype == torch.int32
    buffer.destroy()


elastic()
legacy()
print(f"rank {rank} of {n}: right", flush=True)
