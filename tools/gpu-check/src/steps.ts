import type { Step } from './step.js';
import { absentRank, killedRank, unlikeRanks } from './steps/failures.js';
import { groups } from './steps/groups.js';
import { oneRank } from './steps/one-rank.js';
import { probeStep } from './steps/probe.js';
import { sameGpu } from './steps/same-gpu.js';
import { staging } from './steps/staging.js';
import { trainingAlone, trainingTogether } from './steps/training.js';
import { twoRanks } from './steps/two-ranks.js';

/** In the order in which they run: later ones make no sense where the first fails. */
export const steps: Readonly<Record<string, Step>> = {
  probe: probeStep,
  'one-rank': oneRank,
  'same-gpu': sameGpu,
  'two-ranks': twoRanks,
  groups,
  'failure-absent': absentRank,
  'failure-killed': killedRank,
  'failure-unlike': unlikeRanks,
  'training-alone': trainingAlone,
  'training-together': trainingTogether,
  staging,
};
