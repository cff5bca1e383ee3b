import type { Step } from './step.js';
import { deviceMemory } from './steps/device-memory.js';
import { exit } from './steps/exit.js';
import { absentRank, killedRank, unlikeRanks } from './steps/failures.js';
import { groups } from './steps/groups.js';
import { kernels } from './steps/kernels.js';
import { leaksOfCollectives, leaksOfGroups } from './steps/leaks.js';
import { oneRank } from './steps/one-rank.js';
import { overhead } from './steps/overhead.js';
import { probeStep } from './steps/probe.js';
import { sameGpu } from './steps/same-gpu.js';
import { staging } from './steps/staging.js';
import { torch } from './steps/torch.js';
import { torchNccl } from './steps/torch-nccl.js';
import { mirrored, multiWorker } from './steps/training.js';
import { twoRanks } from './steps/two-ranks.js';
import { twoRanksInC } from './steps/two-ranks-in-c.js';
import { virtualMemory } from './steps/virtual-memory.js';

/**
 * All steps in their order: one rank first, then two. The longest steps are last, and are not run after the
 * time limit.
 */
export const steps: Readonly<Record<string, Step>> = {
  probe: probeStep,
  'one-rank': oneRank,
  kernels,
  'virtual-memory': virtualMemory,
  overhead,
  'device-memory': deviceMemory,
  staging,
  mirrored,
  'leaks-collectives': leaksOfCollectives,
  'torch-nccl': torchNccl,
  torch,
  'two-ranks-in-c': twoRanksInC,
  'two-ranks': twoRanks,
  'multi-worker': multiWorker,
  'same-gpu': sameGpu,
  groups,
  'failure-absent': absentRank,
  'failure-killed': killedRank,
  'failure-unlike': unlikeRanks,
  exit,
  'leaks-groups': leaksOfGroups,
};
