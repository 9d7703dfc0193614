#!/bin/bash
# Tests on one node with two Intel GPUs under Slurm; for a job on several nodes see slurm.sh:
#
#     sbatch examples/batch/slurm_tests.sh [FOLDER]
#
# There is one task: the plugin of pytest starts the PEs by ishmem run.
#SBATCH --job-name=ishmem-tests
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=16
#SBATCH --gres=gpu:2
#SBATCH --time=00:30:00
set -euo pipefail

pes=${PES:-2}  # as many as there are GPUs or tiles
export ISHMEM_DEVICE=${DEVICE:-gpu}
unset ZE_AFFINITY_MASK  # it would hide the links between devices

ishmem doctor || echo "ishmem doctor found something wrong" >&2
pytest --ishmem-device="$ISHMEM_DEVICE" --ishmem-npes="1,$pes" "${1:-tests}"
