import { Worker } from 'node:worker_threads';
import type { ThreadGroup } from '@coll/core';
import { engines } from '../engines.js';
import type { Effort, Measurement } from '../measurement.js';
import { remembered } from '../remembered.js';
import type { Trial } from '../trial.js';
import type { FromRank, RankOrder, RankStart } from './rank-thread.js';
import { executedBy, packingOf, type Venue } from './venue.js';

const entry = new URL('./rank-thread.ts', import.meta.url);

/** A thread per rank. Messages carry orders and figures. During a measurement, the threads only use their thread group. */
export class RankThreads implements Venue {
  readonly #ranks: number;
  readonly #workers: readonly Worker[];
  readonly #groups = new Map<string, ThreadGroup>();

  constructor(ranks: number) {
    this.#ranks = ranks;
    this.#workers = Array.from({ length: ranks }, (_, rank) => {
      const start: RankStart = { rank, ranks };
      return new Worker(entry, { workerData: start, name: `rank ${rank}` });
    });
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const order: RankOrder = { trial, effort, ...this.#groupFor(trial) };
      const answers = await Promise.all(this.#workers.map((worker) => ask(worker, order)));
      measurements.push(answers[0] as Measurement);
    }
    return measurements;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  // Communicators and ops have separate groups, because each counts its calls.
  #groupFor(trial: Trial): Pick<RankOrder, 'key' | 'group'> {
    const [engine, algorithm] = executedBy(trial);
    const key = `${engine} ${algorithm} ${trial.work.type === 'batch' ? JSON.stringify(packingOf(trial)) : 'communicator'}`;
    return { key, group: remembered(this.#groups, key, () => engines[engine].createGroup({ size: this.#ranks })) };
  }
}

function ask(worker: Worker, order: RankOrder): Promise<Measurement> {
  return new Promise((resolve, reject) => {
    const answer = (message: FromRank) => {
      worker.off('error', reject);
      if ('error' in message) reject(message.error);
      else resolve(message);
    };
    worker.once('message', answer);
    worker.once('error', reject);
    worker.postMessage(order);
  });
}
