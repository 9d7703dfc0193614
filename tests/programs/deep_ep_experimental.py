"""Uses the experimental calls of DeepEP's V2 on tensors of a process group."""

import torch
import torch.distributed as dist

import ishmem.deep_ep as deep_ep

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, n = dist.get_rank(), dist.get_world_size()
buffer = deep_ep.ElasticBuffer(dist.group.WORLD)
torch.manual_seed(1)
storage = torch.randn((n * 6, 64)).bfloat16()
buffer.engram_write(storage[rank * 6 : (rank + 1) * 6])
indices = torch.randint(0, n * 6, (5, 3), dtype=torch.int)
data, scales = buffer.engram_fetch(indices)()
assert scales is None and torch.equal(data, storage[indices.view(-1)].view(5, -1))
narrow, factors = storage.to(torch.float8_e4m3fn), torch.randn((n * 6, 2))
buffer.engram_write(narrow[rank * 6 : (rank + 1) * 6], sf=factors)
data, scales = buffer.engram_fetch(indices)()
assert torch.equal(data.view(torch.uint8), narrow.view(torch.uint8)[indices.view(-1)].view(5, -1))
assert torch.equal(scales, factors[indices.view(-1)].view(5, -1))
buffer.pp_set_config(4096, 2)
for i in range(5):
    buffer.pp_send(torch.full((8, 16), rank + i, dtype=torch.bfloat16), (rank + 1) % n)
    received = torch.empty((8, 16), dtype=torch.bfloat16)
    buffer.pp_recv(received, (rank - 1) % n)
    assert (received == (rank - 1) % n + i).all()
buffer.agrs_set_config(buffer.get_agrs_num_max_session_bytes(dist.group.WORLD, (4, 4), torch.bfloat16), 1)
for i in range(3):
    with buffer.agrs_new_session():
        own = buffer.agrs_get_inplace_tensor((4, 4), torch.bfloat16)
        own.copy_(torch.full((4, 4), rank + i))
        gathered, handle = buffer.all_gather(own)
        handle()
        assert torch.equal(gathered, torch.stack([torch.full((4, 4), pe + i).bfloat16() for pe in range(n)]))
buffer.destroy()
print(f"rank {rank} of {n}: right", flush=True)
