#!/bin/bash
# A job of 12 PEs on two nodes under Slurm, one PE for each of a node's 6 GPUs or tiles:
#
#     sbatch examples/batch/slurm.sh
#
# srun starts one process per PE; in each, ishmem run chooses the GPU by the process's number on its node. mpi4py must be
# built for an MPI that works with srun here: --mpi=list names the kinds (MPICH and Intel MPI pmi2, Open MPI pmix).
#SBATCH --job-name=ishmem
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=6
#SBATCH --time=00:10:00
set -euo pipefail

program=${1:-examples/ring.py}
export ISHMEM_SYMMETRIC_SIZE=1G

srun --mpi=pmi2 --cpu-bind=none ishmem info
srun --mpi=pmi2 --cpu-bind=none --kill-on-bad-exit=1 --label ishmem run "$program"
