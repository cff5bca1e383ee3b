import { createHash } from 'node:crypto';
import type { Schedule } from '@coll/core/schedule';
import { allReduce, type Case, casesAmong, type Setting } from '../catalogue.ts';
import { buffers, gamma, networks, withinWorker } from '../prices/networks.ts';
import { simgridVersion, simulate } from './simgrid.ts';

/** What the simulator says that an algorithm takes among so many ranks. */
export interface SimulatedRow {
  readonly setting: Setting['name'];
  readonly algorithm: string;
  readonly ranks: number;
  readonly simgrid: string;
  /** Differs where the schedule or the machine does. */
  readonly fingerprint: string;
  /** By network, then by buffer. */
  readonly seconds: readonly (readonly number[])[];
}

/** The sizes of groups that are simulated, odd ones among them. */
export const simulatedRanks: readonly number[] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];

/** Simulates all algorithms among as many ranks as these. @throws Error where SimGrid is missing or fails */
export function* simulatedRows(counts: readonly number[]): Iterable<SimulatedRow> {
  const simgrid = simgridVersion();
  if (simgrid === undefined) throw new Error('SimGrid is not here');
  for (const each of casesAmong(counts)) {
    const { setting, name: algorithm, ranks } = each;
    const schedule = each.algorithm.plan(allReduce, ranks);
    const fingerprint = fingerprintOf(setting, schedule);
    const seconds = networks.map(({ times }) => {
      const machine = { ranks, ranksPerWorker: setting.ranksPerWorker, across: times, within: withinWorker };
      return buffers.map((bytes) => simulate({ schedule, machine, bytes, gamma }));
    });
    yield { setting: setting.name, algorithm, ranks, simgrid, fingerprint, seconds };
  }
}

/** The fingerprint that a row has if it was simulated as things are now. */
export function presentFingerprint({ setting, algorithm, ranks }: Case): string {
  return fingerprintOf(setting, algorithm.plan(allReduce, ranks));
}

function fingerprintOf({ ranksPerWorker }: Setting, schedule: Schedule): string {
  const machine = { ranksPerWorker, networks, withinWorker, buffers, gamma };
  return createHash('sha256').update(JSON.stringify({ machine, schedule })).digest('hex').slice(0, 16);
}
