import { createHash } from 'node:crypto';
import type { Schedule } from '@coll/core/schedule';
import { allReduce, type Case, type Setting } from '../catalogue.ts';
import { buffers, gamma, networks, withinWorker } from '../prices/networks.ts';
import { installLine } from './install.ts';
import { simgridVersion, simulate } from './simgrid.ts';

/** The simulated times of an algorithm for a number of ranks. */
export interface SimulatedRow {
  readonly setting: Setting['name'];
  readonly algorithm: string;
  readonly ranks: number;
  readonly simgrid: string;
  /** A hash of the schedule and the machine. */
  readonly fingerprint: string;
  /** By network, then by buffer. */
  readonly seconds: readonly (readonly number[])[];
}

/** The simulated sizes of groups, including odd ones. */
export const simulatedRanks: readonly number[] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256];

/**
 * The times of one case: from a known row with the same fingerprint, or else simulated, which takes up to
 * minutes.
 * @throws Error if SimGrid is missing or fails
 */
export function simulatedRow(each: Case, known: readonly SimulatedRow[] = []): SimulatedRow {
  const simgrid = simgridVersion();
  if (simgrid === undefined) throw new Error(`SimGrid is not here; run: ${installLine} (or add --install)`);
  const { setting, name: algorithm, ranks } = each;
  const schedule = each.algorithm.plan(allReduce, ranks);
  const fingerprint = fingerprintOf(setting, schedule);
  const same = known.find((row) => row.fingerprint === fingerprint && row.simgrid === simgrid);
  const simulateAll = ({ times }: (typeof networks)[number]) => {
    const machine = { ranks, ranksPerWorker: setting.ranksPerWorker, across: times, within: withinWorker };
    return buffers.map((bytes) => simulate({ schedule, machine, bytes, gamma }));
  };
  const seconds = same?.seconds ?? networks.map(simulateAll);
  return { setting: setting.name, algorithm, ranks, simgrid, fingerprint, seconds };
}

/** The fingerprint of a case with the current schedule and machine. */
export function presentFingerprint({ setting, algorithm, ranks }: Case): string {
  return fingerprintOf(setting, algorithm.plan(allReduce, ranks));
}

function fingerprintOf({ ranksPerWorker }: Setting, schedule: Schedule): string {
  const machine = { ranksPerWorker, networks, withinWorker, buffers, gamma };
  return createHash('sha256').update(JSON.stringify({ machine, schedule })).digest('hex').slice(0, 16);
}
