import { parentPort, workerData } from 'node:worker_threads';
import { type CrossDeviceOps, ThreadCommunicator, type ThreadGroup, threadWorld } from '@coll/core';
import { type AlgorithmName, algorithms, plugins } from '../algorithms.js';
import { type Measurement, measure } from '../measurement.js';
import { replicaBatchSubject } from '../subjects/batch-subject.js';
import { Buffers, GradientBuffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import type { Subject } from '../subjects/subject.js';
import type { Trial } from '../trial.js';
import { devicesOf, type Order } from './venue.js';

/** The entry of a rank's thread: measures what it is told to. */

export interface RankStart {
  readonly rank: number;
  readonly ranks: number;
  readonly groups: Readonly<Record<AlgorithmName, ThreadGroup>>;
}

export type FromRank = Measurement | { readonly error: unknown };

const port = parentPort as NonNullable<typeof parentPort>;
const { rank, ranks, groups } = workerData as RankStart;
const gradients = new GradientBuffers();
const communicators = new Map<AlgorithmName, { communicator: ThreadCommunicator; buffers: Buffers }>();
const opened = new Map<AlgorithmName, CrossDeviceOps>();

port.on('message', (order: Order) => {
  void answer(order);
});

async function answer({ trial, effort }: Order): Promise<void> {
  try {
    say(await measure(await subjectOf(trial), trial, effort));
  } catch (error) {
    say({ error });
  }
}

function say(message: FromRank): void {
  port.postMessage(message);
}

async function subjectOf(trial: Trial): Promise<Subject> {
  const { algorithm = 'direct', work } = trial;
  if (work.type === 'batch') return replicaBatchSubject(await opsOf(algorithm), gradients, rank, trial);
  const { communicator, buffers } = communicatorOf(algorithm);
  return collectiveSubject(communicator, buffers, trial);
}

function communicatorOf(name: AlgorithmName) {
  const known = communicators.get(name);
  if (known) return known;
  const communicator = new ThreadCommunicator(groups[name], { rank, algorithm: algorithms[name] });
  const made = { communicator, buffers: new Buffers(communicator) };
  communicators.set(name, made);
  return made;
}

async function opsOf(name: AlgorithmName): Promise<CrossDeviceOps> {
  const known = opened.get(name);
  if (known) return known;
  const made = await plugins[name].create(undefined, threadWorld(groups[name], rank, devicesOf(ranks)));
  opened.set(name, made);
  return made;
}
