#!/bin/bash
# A job of 8 PEs on two hosts with Intel MPI and ssh, without a batch system:
#
#     HOSTS=node0,node1 examples/batch/intel_mpi.sh [PROGRAM]
#
# Source Intel MPI's vars.sh before, not the setvars.sh of all oneAPI, which puts another SYCL first.
set -euo pipefail

program=${1:-examples/ring.py}
hosts=${HOSTS:?set HOSTS to the names of the hosts, such as node0,node1}
export ISHMEM_SYMMETRIC_SIZE=1G
if [ -e /dev/dri ]; then
    export I_MPI_OFFLOAD=1  # MPI sends from and receives into the memory of GPUs
fi

ishmem doctor || echo "ishmem doctor found something wrong" >&2
mpiexec -hosts "$hosts" -n 8 -ppn 4 ishmem run "$program"

# The same by ishmem run, with the number of the PE before each line of output:
ishmem run -n 8 --hosts "$hosts" --timeout 600 "$program"
