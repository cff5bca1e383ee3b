import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { collectorFlags } from '@coll/native/machine';
import { TcpStoreServer } from '@coll/rendezvous';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial } from '../trial.js';
import type { FromProcess, ProcessStart } from './rank-process.js';
import type { Order, Venue } from './venue.js';

const entry = fileURLToPath(new URL('./rank-process.ts', import.meta.url));

/** A process a rank, as members of groups over each transport. Messages say what to measure and bring the figures. */
export class RankProcesses implements Venue {
  readonly #ranks: number;
  #started: Promise<Started> | undefined;

  constructor(ranks: number) {
    this.#ranks = ranks;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    this.#started ??= start(this.#ranks);
    const { children } = await this.#started;
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const answers = await Promise.all(children.map((child) => ask(child, { trial, effort })));
      measurements.push(answers[0] as Measurement);
    }
    return measurements;
  }

  async close(): Promise<void> {
    const started = await this.#started;
    started?.end();
    await started?.store.close();
  }
}

interface Started {
  readonly children: readonly ChildProcess[];
  readonly store: TcpStoreServer;
  end(): void;
}

async function start(ranks: number): Promise<Started> {
  const member = { job: 'benchmark', jobKey: TcpStoreServer.newKey() };
  const store = await TcpStoreServer.listen(member);
  const children = Array.from({ length: ranks }, (_, rank) => {
    const told: ProcessStart = { rank, ranks, address: store.address, ...member };
    return fork(entry, [JSON.stringify(told)], {
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...collectorFlags(ranks)],
    });
  });
  const end = () => {
    for (const child of children) child.kill('SIGKILL');
    process.off('exit', end);
  };
  process.once('exit', end);
  return { children, store, end };
}

function ask(child: ChildProcess, order: Order): Promise<Measurement> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: string | null) =>
      reject(new Error(`the process of a rank has ended with ${signal ?? code}`));
    child.once('exit', ended);
    child.once('message', (message: FromProcess) => {
      child.off('exit', ended);
      if ('error' in message) reject(message.error);
      else resolve(message);
    });
    child.send(order);
  });
}
