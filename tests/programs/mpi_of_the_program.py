"""Uses MPI beside ishmem, in the way of the first argument; PEs write files into the folder of the second one."""

import sys
from pathlib import Path

import mpi4py

way, *folder = sys.argv[1:]
mpi4py.rc.initialize = "MPI is" not in way
mpi4py.rc.thread_level = "serialized" if way == "serialized" else "multiple"
from mpi4py import MPI

import ishmem


def finalize_mpi_first():
    ishmem.init("8M")
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.zeros(1, dtype="i8")
    ishmem.p(a, 5, (me + 1) % n)
    MPI.Finalize()
    assert int(a[0]) == 5
    try:
        ishmem.my_pe()
    except ishmem.StateError as error:
        assert "MPI_Finalize" in str(error)
    if way == "both are finalised":
        ishmem.finalize()


def init_with_one_thread():
    try:
        ishmem.init("8M")
    except ishmem.IshmemError as error:
        assert "MPI_THREAD_MULTIPLE" in str(error), error
        return
    raise SystemExit("no error")


def be_a_job():
    """Be a job on all processes of MPI or on every other one, while the program calls MPI itself."""
    world = MPI.COMM_WORLD
    members = world if way == "all" else world.Split(world.rank % 2, -world.rank)
    with ishmem.init("64M", comm=members):
        assert (ishmem.my_pe(), ishmem.n_pes()) == (members.rank, members.size)
        a = ishmem.full(1, ishmem.my_pe(), dtype="i8")
        total = ishmem.zeros(1, dtype="i8")
        ishmem.sum_reduce(total, a)
        assert int(total[0]) == members.allreduce(members.rank)
        world.Barrier()
        ishmem.free_all()
    assert world.allreduce(1) == world.size
    print("right")


if way == "MPI is finalised":
    MPI.Init()
    MPI.Finalize()
if way.startswith("MPI is"):
    ishmem.init("8M", comm=MPI.COMM_WORLD)
elif way in ("all", "half"):
    be_a_job()
else:
    rank = MPI.COMM_WORLD.rank
    init_with_one_thread() if way == "serialized" else finalize_mpi_first()
    Path(folder[0], str(rank)).touch()
