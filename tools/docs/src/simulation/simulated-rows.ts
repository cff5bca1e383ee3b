import { createHash } from 'node:crypto';
import type { Schedule } from '@coll/core/schedule';
import { allReduce, type Case, type Setting } from '../catalogue.ts';
import { buffers, gamma, networks, withinWorker } from '../prices/networks.ts';
import { installLine } from './install.ts';
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
export const simulatedRanks: readonly number[] = [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128, 256];

/**
 * The times of one algorithm, simulated unless a known row has them, which takes up to minutes.
 *
 * @throws Error where SimGrid is missing or fails
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

/** The fingerprint that a row has if it was simulated as things are now. */
export function presentFingerprint({ setting, algorithm, ranks }: Case): string {
  return fingerprintOf(setting, algorithm.plan(allReduce, ranks));
}

function fingerprintOf({ ranksPerWorker }: Setting, schedule: Schedule): string {
  const machine = { ranksPerWorker, networks, withinWorker, buffers, gamma };
  return createHash('sha256').update(JSON.stringify({ machine, schedule })).digest('hex').slice(0, 16);
}
