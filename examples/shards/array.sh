#!/bin/sh
# A Slurm array that evaluates a program, each task a part of the data set:
#
#   sbatch --array=1-16 array.sh PROGRAM.pte --dataset DATA [--reference MODEL.pt2 ...]
#
# Task I of N writes shards/I.json; 'nucleon merge-evaluations shards/*.json' makes one evaluation of them. A task that
# did not end is missing there, and can be run again alone: sbatch --array=7 needs SHARDS=16 in its environment then.
#SBATCH --job-name=evaluate
#SBATCH --cpus-per-task=2
#SBATCH --output=evaluate-%a.log
set -eu
task=$SLURM_ARRAY_TASK_ID
count=${SHARDS:-$SLURM_ARRAY_TASK_COUNT}
mkdir -p shards
nucleon evaluate "$@" --threads "${SLURM_CPUS_PER_TASK:-1}" --shard "$task/$count" --json >"shards/$task.json.part"
mv "shards/$task.json.part" "shards/$task.json"
