import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { collectorFlags } from '@coll/native/machine';
import { TcpStoreServer } from '@coll/rendezvous';
import { ask } from '../ask.js';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial } from '../trial.js';
import type { ProcessStart } from './rank-process.js';
import type { Order, Venue } from './venue.js';

const entry = fileURLToPath(new URL('./rank-process.ts', import.meta.url));

/** A process per rank, each a member of a group over each transport. Messages carry orders and figures. */
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
      const answers = await Promise.all(
        children.map((child, rank) => ask<Measurement>(child, `rank ${rank}`, { trial, effort } satisfies Order)),
      );
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
    const begin: ProcessStart = { rank, ranks, address: store.address, ...member };
    return fork(entry, [JSON.stringify(begin)], {
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
