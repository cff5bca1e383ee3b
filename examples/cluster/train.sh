#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=2
#SBATCH --time=00:10:00
#SBATCH --output=%x-%j.out

# The secret with which the four tasks authenticate each other. srun passes it to them.
export COLL_JOB_KEY=$(openssl rand -base64 32)

srun --label --kill-on-bad-exit=1 node --import tsx train.ts
