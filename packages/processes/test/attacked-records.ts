import { randomBytes } from 'node:crypto';
import type { AttackedNetwork, Tapped } from './attacked-network.ts';

/** What an attacker, who knows the earlier records, lets pass in the place of one. */
export type RecordAttack = (record: Buffer, earlier: readonly Buffer[]) => readonly Buffer[];

const headBytes = 5;
const encrypted = 23;
/** A record's head: its length is at the end. */
const headOf = (length: number) => Buffer.of(encrypted, 3, 3, length >> 8, length & 255);

export const recordAttacks: Readonly<Record<string, RecordAttack>> = {
  'repeats a record': (record) => [record, record],
  'repeats an earlier record': (record, earlier) => [record, earlier[0] as Buffer],
  'swaps two records': (record) => [behindNext, record],
  'leaves a record out': () => [],
  'shortens a record': (record) => [record.subarray(0, -1)],
  'ends within a record': (record) => [record.subarray(0, record.length / 2), end],
  'ends between two records': (record) => [record, end],
  'inserts a record of random bytes': (record) => [headOf(64), randomBytes(64), record],
  'inserts an empty record': (record) => [headOf(0), record],
  'inserts a record that is too long': (record) => [headOf(0xffff), randomBytes(0xffff), record],
  'inserts an alert in clear': (record) => [Buffer.of(21, 3, 3, 0, 2, 1, 0), record],
};

/** In the place of a record: ends the connection. */
const end = Buffer.alloc(0);
/** In the place of a record: the following one passes first. */
const behindNext = Buffer.alloc(0);

/** Attacks a network at one record of one end: of all encrypted records, the third. */
export function attackRecord(network: AttackedNetwork, purpose: string, from: 0 | 1, change: RecordAttack) {
  const state = { isMade: false };
  const streams = new Map<Tapped, RecordStream>();
  network.attack = (tapped, own, part) => {
    if (tapped.purpose !== purpose || own !== from) return part;
    const clear = Math.max(0, network.clearBytes(purpose, from) - tapped.said[from].length);
    const stream = streams.get(tapped) ?? new RecordStream(change);
    streams.set(tapped, stream);
    const passed = Buffer.concat([part.subarray(0, clear), ...stream.pass(part.subarray(clear))]);
    state.isMade ||= stream.isMade;
    if (stream.hasEnded) setImmediate(() => tapped.ends[own === 0 ? 1 : 0].end());
    return passed;
  };
  return state satisfies { readonly isMade: boolean };
}

/** The records of one end of one connection. */
class RecordStream {
  readonly #change: RecordAttack;
  readonly #earlier: Buffer[] = [];
  #held: Buffer | undefined;
  #rest = Buffer.of();
  isMade = false;
  hasEnded = false;

  constructor(change: RecordAttack) {
    this.#change = change;
  }

  pass(part: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, part]);
    const passed: Buffer[] = [];
    for (let record = this.#next(); record && !this.hasEnded; record = this.#next()) passed.push(...this.#see(record));
    return passed;
  }

  #next(): Buffer | undefined {
    if (this.#rest.length < headBytes) return undefined;
    const bytes = headBytes + this.#rest.readUInt16BE(headBytes - 2);
    if (this.#rest.length < bytes) return undefined;
    const record = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return record;
  }

  #see(record: Buffer): readonly Buffer[] {
    const held = this.#held;
    this.#held = undefined;
    if (held) return [record, held];
    if (this.isMade || record[0] !== encrypted) return [record];
    // The first ones belong to the handshake.
    if (this.#earlier.push(record) <= 2) return [record];
    this.isMade = true;
    const records = this.#change(record, this.#earlier);
    this.hasEnded = records.includes(end);
    if (!records.includes(behindNext)) return records;
    this.#held = record;
    return [];
  }
}
