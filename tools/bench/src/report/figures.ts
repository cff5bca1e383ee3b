import type { EngineName } from '@coll/core';
import { engineNames } from '../engines.js';
import { tolerableLoad } from '../foreign-load.js';
import { type PeerName, peerNames } from '../peers/peers.js';
import type { SuiteName } from '../trial.js';
import { machineName } from './machine.js';
import type { ShownRow } from './results.js';
import { type FailedRow, isMeasured } from './row.js';

/** Fields that a row must have. A field that is undefined here must be absent. */
export type Wanted = { readonly [Field in keyof ShownRow]?: ShownRow[Field] | undefined };

/** Rows that were measured on one CPU, by their fields. */
export class Figures {
  readonly rows: readonly ShownRow[];
  /** Cases without figures. */
  readonly failed: readonly FailedRow[];

  constructor(rows: readonly (ShownRow | FailedRow)[]) {
    this.rows = rows.filter(isMeasured);
    this.failed = rows.filter((row): row is FailedRow => !isMeasured(row));
  }

  find(wanted: Wanted): ShownRow | undefined {
    const fields = Object.entries(wanted) as [keyof ShownRow, unknown][];
    return this.rows.find((row) => fields.every(([field, value]) => row[field] === value));
  }

  /** The row of coll: of threads that block, on still input and in place unless `wanted` says otherwise. */
  ours(wanted: Wanted): ShownRow | undefined {
    return this.find({ form: 'sync', input: 'still', place: 'in', transport: undefined, memory: undefined, ...wanted });
  }

  /** The row of another library, on still input and in place unless `wanted` says otherwise. */
  peer(wanted: Wanted, peer: PeerName): ShownRow | undefined {
    return this.find({ input: 'still', place: 'in', ...wanted, peer });
  }

  /** The fastest of these libraries. */
  fastest(wanted: Wanted, peers: readonly PeerName[] = peerNames): ShownRow | undefined {
    return peers.flatMap((peer) => this.peer(wanted, peer) ?? []).sort((a, b) => a.medianMicros - b.medianMicros)[0];
  }

  ranksOf(suite: SuiteName): number[] {
    return ascending(this.rows.filter((row) => row.suite === suite).map(({ ranks }) => ranks));
  }

  sizesOf(suite: SuiteName, ranks: number): number[] {
    return ascending(this.rows.filter((row) => row.suite === suite && row.ranks === ranks).map(({ bytes }) => bytes));
  }

  /** The measured engines, the fastest first. */
  engines(suite: SuiteName): EngineName[] {
    return engineNames.filter((name) => this.rows.some((row) => row.suite === suite && row.engine === name));
  }

  peers(suite: SuiteName): PeerName[] {
    return peerNames.filter((name) => this.rows.some((row) => row.suite === suite && row.peer === name));
  }

  /** How many rows other programs disturbed. */
  get disturbed(): number {
    return this.rows.filter(({ foreignLoad = 0 }) => foreignLoad > tolerableLoad).length;
  }

  /** The days on which rows of these suites were measured: one, or the first and the last. */
  daysOf(...suites: readonly SuiteName[]): string {
    const days = this.rows.filter(({ suite }) => suites.includes(suite)).map(({ date }) => date.slice(0, 10));
    const [first, last] = [days.sort()[0], days.at(-1)];
    return first === last ? `${first}` : `${first} to ${last}`;
  }
}

/** The figures of one CPU model with one number of cores. */
export interface Family {
  /** The CPU and its cores, such as `A Processor, 2 cores`. */
  readonly name: string;
  readonly figures: Figures;
}

/** The figures of each CPU, those with most rows first. */
function familiesOf(rows: readonly (ShownRow | FailedRow)[]): Family[] {
  const groups = [...new Set(rows.map(machineName))].map((name) => ({
    name,
    own: rows.filter((row) => machineName(row) === name),
  }));
  return groups
    .sort((one, other) => other.own.length - one.own.length)
    .map(({ name, own }) => ({ name, figures: new Figures(own) }));
}

/** The suites of application-level calls. */
const calledSuites: readonly SuiteName[] = ['strategy', 'ops', 'runs', 'cold'];

/** The figures on the page of benchmarks. */
export interface Report {
  /** Application-level calls, on the CPU with most of their rows. */
  readonly called: Figures;
  /** Communicators, on the CPU with most of their rows. */
  readonly main: Figures;
  /** Communicators on each CPU. */
  readonly families: readonly Family[];
}

export function reportOf(rows: readonly (ShownRow | FailedRow)[]): Report {
  const isCalled = ({ suite }: ShownRow | FailedRow) => calledSuites.includes(suite);
  const families = familiesOf(rows.filter((row) => !isCalled(row)));
  const none = new Figures([]);
  return {
    called: familiesOf(rows.filter(isCalled))[0]?.figures ?? none,
    main: families[0]?.figures ?? none,
    families,
  };
}

/** How many times faster the first is than the second; undefined if one is missing. */
export function ratioOf(ours: ShownRow | undefined, theirs: ShownRow | undefined): number | undefined {
  return ours && theirs ? theirs.medianMicros / ours.medianMicros : undefined;
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
