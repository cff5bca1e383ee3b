import type { EngineName } from '@coll/core';
import { engineNames } from '../engines.js';
import { tolerableLoad } from '../foreign-load.js';
import { type PeerName, peerNames, type Transport } from '../peers/peers.js';
import type { Form, InputKind, Memory, Place, SuiteName } from '../trial.js';
import { type FailedRow, isMeasured, type Row } from './row.js';

/** Which row is meant. */
export interface Wanted {
  readonly suite: SuiteName;
  readonly ranks: number;
  readonly bytes: number;
  readonly input?: InputKind;
  readonly place?: Place;
  /** Of processes of ours; without it threads are meant. */
  readonly transport?: Transport;
  readonly memory?: Memory;
  /** How the case begins, where several cases have one size. */
  readonly case?: string;
}

/** Rows of one run, by what they measure. */
export class Figures {
  readonly rows: readonly Row[];

  constructor(rows: readonly (Row | FailedRow)[]) {
    this.rows = rows.filter(isMeasured);
  }

  ours(wanted: Wanted, engine: EngineName, form: Form = 'sync'): Row | undefined {
    const { transport, memory } = wanted;
    const isMeant = (row: Row) => row.transport === transport && row.memory === memory;
    return this.#find(wanted, (row) => row.engine === engine && row.form === form && isMeant(row));
  }

  peer(wanted: Wanted, peer: PeerName): Row | undefined {
    return this.#find(wanted, (row) => row.peer === peer);
  }

  /** The fastest of these. */
  fastest(wanted: Wanted, peers: readonly PeerName[] = peerNames): Row | undefined {
    return peers.flatMap((peer) => this.peer(wanted, peer) ?? []).sort((a, b) => a.medianMicros - b.medianMicros)[0];
  }

  bound({ suite, ranks, bytes, input = 'still' }: Wanted): Row | undefined {
    return this.#find({ suite, ranks, bytes, input }, (row) => row.engine === 'bound');
  }

  ranksOf(suite: SuiteName): number[] {
    return ascending(this.rows.filter((row) => row.suite === suite).map(({ ranks }) => ranks));
  }

  sizesOf(suite: SuiteName, ranks: number): number[] {
    return ascending(this.rows.filter((row) => row.suite === suite && row.ranks === ranks).map(({ bytes }) => bytes));
  }

  engines(suite: SuiteName): EngineName[] {
    return engineNames.filter((name) => this.rows.some((row) => row.suite === suite && row.engine === name));
  }

  peers(suite: SuiteName): PeerName[] {
    return peerNames.filter((name) => this.rows.some((row) => row.suite === suite && row.peer === name));
  }

  #find(wanted: Wanted, fits: (row: Row) => boolean): Row | undefined {
    const { suite, ranks, bytes, input = 'still', place = 'in', case: begin } = wanted;
    return this.rows.find(
      (row) =>
        row.suite === suite &&
        row.ranks === ranks &&
        row.bytes === bytes &&
        row.input === input &&
        row.place === place &&
        (begin === undefined || row.case === begin || row.case.startsWith(`${begin} `)) &&
        fits(row),
    );
  }
}

/** How many times faster the first is than the second; undefined where one is missing. */
export function ratioOf(ours: Row | undefined, theirs: Row | undefined): number | undefined {
  return ours && theirs ? theirs.medianMicros / ours.medianMicros : undefined;
}

/** How many of the rows other programs disturbed. */
export function disturbedAmong(rows: readonly Row[]): number {
  return rows.filter(({ foreignLoad = 0 }) => foreignLoad > tolerableLoad).length;
}

function ascending(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((a, b) => a - b);
}
