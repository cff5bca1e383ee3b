import type { Session, SuiteName } from '../trial.js';
import { cold } from './cold.js';
import { collectives } from './collectives.js';
import { eventLoop } from './event-loop.js';
import { gradients } from './gradients.js';
import { inProcess } from './in-process.js';
import { mpi } from './mpi.js';
import { ops } from './ops.js';
import { overlap } from './overlap.js';
import { packing } from './packing.js';
import { processes } from './processes.js';
import { recorder } from './recorder.js';
import { runs } from './runs.js';
import type { Selection } from './selection.js';
import { strategy } from './strategy.js';

/** What each suite measures between a number of ranks. */
export const suites: Readonly<Record<SuiteName, (selection: Selection, ranks: number) => Session[]>> = {
  'in-process': inProcess,
  gradients,
  'event-loop': eventLoop,
  strategy,
  ops,
  runs,
  cold,
  collectives,
  packing,
  overlap,
  processes,
  mpi,
  recorder,
};
