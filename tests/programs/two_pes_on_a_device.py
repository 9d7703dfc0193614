"""A PE of two that see all simulated devices: ``two_pes_on_a_device how rank uid``; ``how`` says how init gets one."""

import sys

import dpctl
import dpnp

import ishmem

how, rank, uid = sys.argv[1:]
gpus = dpctl.get_devices(backend="level_zero", device_type="gpu")
device = {"name": "level_zero:gpu:1", "object": gpus[-1], "default": None}[how]
ishmem.init(device=device, uid=uid, rank=int(rank), nranks=2)
wanted = {"name": gpus[1], "object": gpus[-1], "default": gpus[ishmem.my_pe()]}[how]
a = ishmem.zeros(3)
assert a.sycl_device == wanted, (a.sycl_device, wanted)
assert a.sycl_queue == dpnp.zeros(3, device=wanted).sycl_queue
for pe in range(ishmem.n_pes()):
    ishmem.p(a, ishmem.my_pe() + 1.0, pe, ishmem.my_pe())
ishmem.barrier_all()
assert a.asnumpy().tolist() == [1.0, 2.0, 0.0]
sys.stdout.write(f"{len(gpus)}\n")
ishmem.free(a)
ishmem.finalize()
