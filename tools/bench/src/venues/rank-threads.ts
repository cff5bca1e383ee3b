import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { createThreadGroup } from '@coll/core';
import { type AlgorithmName, algorithmNames } from '../algorithms.js';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial } from '../trial.js';
import type { FromRank, RankStart } from './rank-thread.js';
import type { Order, Venue } from './venue.js';

// A thread does not inherit a TypeScript loader, so it brings one before its first module.
const bootstrap = `
const { workerData } = require('node:worker_threads');
import(workerData.tsx).then(({ register }) => { register(); return import(workerData.entry); });
`;

/**
 * A thread a rank. Messages say what to measure and bring the figures; while they measure, the threads meet through their thread
 * group alone.
 */
export class RankThreads implements Venue {
  readonly #workers: readonly Worker[];

  constructor(ranks: number) {
    const spins = ranks <= availableParallelism() ? {} : { spins: 0 };
    const groupOf = (name: AlgorithmName) => [name, createThreadGroup({ size: ranks, ...spins })] as const;
    const groups = Object.fromEntries(algorithmNames.map(groupOf)) as RankStart['groups'];
    const loading = {
      tsx: import.meta.resolve('tsx/esm/api'),
      entry: new URL('./rank-thread.ts', import.meta.url).href,
    };
    this.#workers = Array.from({ length: ranks }, (_, rank) => {
      const start: RankStart = { rank, ranks, groups };
      return new Worker(bootstrap, { eval: true, workerData: { ...start, ...loading }, name: `rank ${rank}` });
    });
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const answers = await Promise.all(this.#workers.map((worker) => ask(worker, { trial, effort })));
      measurements.push(answers[0] as Measurement);
    }
    return measurements;
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}

function ask(worker: Worker, order: Order): Promise<Measurement> {
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
