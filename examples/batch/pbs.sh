#!/bin/bash
# Tests and a job on one node with Intel GPUs under PBS, as on Intel's DevCloud:
#
#     qsub -l nodes=1:gpu:ppn=2 -d . examples/batch/pbs.sh
#
# PBS Professional has other words for the resources: qsub -l select=1:ngpus=2 examples/batch/pbs.sh
#PBS -N ishmem
#PBS -j oe
#PBS -l walltime=00:30:00
set -euo pipefail

cd "$PBS_O_WORKDIR"
program=${program:-examples/ring.py}  # qsub -v program=...,tests=... passes others
pes=${pes:-2}                         # as many as the node has GPUs or tiles
export ISHMEM_DEVICE=${device:-gpu}
unset ZE_AFFINITY_MASK  # it would hide the links between devices
if [ -e .venv/bin/activate ]; then
    # shellcheck source=/dev/null
    source .venv/bin/activate
fi

ishmem doctor || echo "ishmem doctor found something wrong" >&2
ishmem run -n "$pes" --timeout 600 "$program"
pytest --ishmem-device="$ISHMEM_DEVICE" --ishmem-npes="1,$pes" "${tests:-tests}"
