"""Two PEs, a process and its child, that see all simulated devices; the argument says how init gets one."""

import os
import subprocess
import sys
import uuid

uid = os.environ.setdefault("UID", uuid.uuid4().hex)
rank = int(os.environ.get("RANK", 0))
if rank == 0:
    child = subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "RANK": "1"})

import dpctl
import dpnp

import ishmem

gpus = dpctl.get_devices(backend="level_zero", device_type="gpu")
device = {"name": "level_zero:gpu:1", "object": gpus[-1], "default": None}[sys.argv[1]]
ishmem.init(device=device, uid=uid, rank=rank, nranks=2)
wanted = {"name": gpus[1], "object": gpus[-1], "default": gpus[ishmem.my_pe()]}[sys.argv[1]]
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
if rank == 0:
    child.wait()
