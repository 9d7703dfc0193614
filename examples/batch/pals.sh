#!/bin/bash
# A job of 24 PEs on two nodes under PBS with PALS, the mpiexec of HPE Cray, one PE for each of a node's 12 tiles:
#
#     qsub -A PROJECT examples/batch/pals.sh
#
# mpiexec starts one process per PE; in each, ishmem run chooses the tile by the process's number on its node. With
# --cpu-bind none the threads of a PE may use all cores; a list of cores for each PE keeps PEs beside their GPUs.
#PBS -N ishmem
#PBS -l select=2
#PBS -l place=scatter
#PBS -l walltime=00:10:00
set -euo pipefail

cd "$PBS_O_WORKDIR"
program=${program:-examples/ring.py}  # qsub -v program=... passes another one
per_node=12
pes=$((per_node * $(sort -u "$PBS_NODEFILE" | wc -l)))
export ISHMEM_SYMMETRIC_SIZE=1G
export ZE_FLAT_DEVICE_HIERARCHY=FLAT  # devices are tiles; with COMPOSITE, the default of some sites, they are cards

mpiexec -n "$pes" --ppn "$per_node" --cpu-bind none ishmem info
mpiexec -n "$pes" --ppn "$per_node" --cpu-bind none ishmem run "$program"

# The same by ishmem run, with the number of the PE before each line of output:
ishmem run -n "$pes" --ppn "$per_node" --hostfile "$PBS_NODEFILE" "$program"
