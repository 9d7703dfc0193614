"""Sum a tensor of bfloat16 over the processes that torchrun starts, and pass another one around by puts.

    torchrun --nproc-per-node 4 examples/torch_allreduce.py
"""

import torch
import torch.distributed as dist

import ishmem


def main() -> None:
    """Sum and pass the tensors on each process, and check them; print the results on PE 0."""
    dist.init_process_group("gloo")
    with ishmem.init(process_group=dist.group.WORLD):
        me, n = ishmem.my_pe(), ishmem.n_pes()
        total = ishmem.torch.full((64, 16), 0.5 * (me + 1), dtype=torch.bfloat16)
        with ishmem.inference.Communicator(nbytes=total.numel() * total.element_size()) as tp:
            tp.all_reduce(total).wait()

        mine, arrived = torch.arange(8) + 10 * me, ishmem.torch.zeros(8, dtype=torch.int64)
        ishmem.put(arrived, mine, (me + 1) % n)
        ishmem.barrier_all()

        assert torch.equal(total, torch.full_like(total, 0.25 * n * (n + 1)))
        assert torch.equal(arrived, torch.arange(8) + 10 * ((me - 1) % n))
        if me == 0:
            print(f"{n} PEs, tensors on {total.device}: the sum is {total[0, 0].item()}, PE 0 got {arrived[0].item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
