import { disagreementCases } from './disagreement-cases.js';
import type { ExecutorCases } from './executor-case.js';
import { sequenceCases } from './sequence-cases.js';
import { scheduleCases } from './value-cases.js';
import { crashCases, waitingCases } from './waiting-cases.js';

/** The cases about results for groups of more ranks than cores, with short buffers. */
export const manyRanksCases: ExecutorCases = {
  ...only(scheduleCases, 'supports every length'),
  ...sequenceCases,
};

/** The cases about calls that fail for groups of more ranks than cores. Each opens a group of its own. */
export const manyRanksFailureCases: ExecutorCases = {
  ...only(disagreementCases, 'detects another length'),
  ...only(waitingCases, 'names members that did not arrive by the deadline', 'wakes the others when a member leaves'),
  ...crashCases,
};

function only(cases: ExecutorCases, ...names: readonly string[]): ExecutorCases {
  return Object.fromEntries(Object.entries(cases).filter(([name]) => names.includes(name)));
}
