import { parentPort, workerData } from 'node:worker_threads';
import type { Communicator, CrossDeviceOps, ThreadGroup } from '@coll/core';
import { threadWorld } from '@coll/core/plugin';
import { algorithms, plugins } from '../algorithms.js';
import { engines } from '../engines.js';
import { type Measurement, measure } from '../measurement.js';
import { remembered } from '../remembered.js';
import { piecesSubject, replicaBatchSubject } from '../subjects/batch-subject.js';
import { Buffers, GradientBuffers, memoryOf } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import type { Subject } from '../subjects/subject.js';
import { devicesOf, executedBy, type Order, packingOf } from './venue.js';

/** The thread of a rank, which measures what it is ordered to. */

export interface RankStart {
  readonly rank: number;
  readonly ranks: number;
}

/** What to measure, and the group to measure it with. */
export interface RankOrder extends Order {
  readonly key: string;
  readonly group: ThreadGroup;
}

export type FromRank = Measurement | { readonly error: unknown };

const port = parentPort as NonNullable<typeof parentPort>;
const { rank, ranks } = workerData as RankStart;
const gradients = new GradientBuffers();
const communicators = new Map<string, { communicator: Communicator; buffers: Buffers }>();
const opened = new Map<string, Promise<CrossDeviceOps>>();

port.on('message', (order: RankOrder) => {
  void answer(order);
});

async function answer(order: RankOrder): Promise<void> {
  try {
    port.postMessage((await measure(await subjectOf(order), order.trial, order.effort)) satisfies FromRank);
  } catch (error) {
    port.postMessage({ error } satisfies FromRank);
  }
}

async function subjectOf(order: RankOrder): Promise<Subject> {
  const { trial } = order;
  if (trial.work.type === 'batch') return replicaBatchSubject(await opsOf(order), gradients, rank, trial);
  const { communicator, buffers } = communicatorOf(order);
  return trial.work.type === 'pieces'
    ? piecesSubject(communicator, gradients, trial)
    : collectiveSubject(communicator, buffers, trial);
}

function communicatorOf({ key, group, trial }: RankOrder) {
  return remembered(communicators, key, () => {
    const [engine, algorithm] = executedBy(trial);
    const communicator = engines[engine].join(group, { rank, algorithm: algorithms[algorithm] });
    return { communicator, buffers: new Buffers(communicator, memoryOf(engine)) };
  });
}

function opsOf({ key, group, trial }: RankOrder): Promise<CrossDeviceOps> {
  return remembered(opened, key, async () => {
    const [engine, algorithm] = executedBy(trial);
    const world = threadWorld(group, rank, devicesOf(ranks), engines[engine]);
    return await plugins[algorithm].create(packingOf(trial) as never, world);
  });
}
