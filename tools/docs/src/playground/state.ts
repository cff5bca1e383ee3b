import type { CollectiveKind } from '@coll/core';

/** What a visitor of the playground has entered. */
export interface State {
  readonly collective: CollectiveKind;
  /** The name of a choice. */
  readonly algorithm: string;
  readonly ranks: number;
  readonly ranksPerWorker: number;
  /** The root, for collectives that have one. */
  readonly root: number;
  /** Number of rounds that have been executed: 0 is the start. */
  readonly step: number;
  /** The transfers left out of the schedule, each as `round.index`, separated by commas. */
  readonly without: string;
  /** Size of the longest buffer of a rank in KiB. */
  readonly size: number;
  /** Between workers: microseconds per message, Gbit/s per port, microseconds that a message occupies a port. */
  readonly latency: number;
  readonly bandwidth: number;
  readonly overhead: number;
  /** The same within a worker. */
  readonly innerLatency: number;
  readonly innerBandwidth: number;
  readonly innerOverhead: number;
  /** Gigabytes per second that a rank combines. */
  readonly combining: number;
}

/** The state of the page without a hash. Its network is the LAN of `networks`. */
export const initial: State = {
  collective: 'all-reduce',
  algorithm: 'ring',
  ranks: 4,
  ranksPerWorker: 1,
  root: 0,
  step: 1,
  without: '',
  size: 1024,
  latency: 50,
  bandwidth: 1,
  overhead: 2,
  innerLatency: 1,
  innerBandwidth: 160,
  innerOverhead: 0.1,
  combining: 10,
};

const names = Object.keys(initial) as (keyof State)[];
const alwaysNamed: ReadonlySet<string> = new Set(['collective', 'algorithm', 'ranks', 'step']);

/** The part of an address after `#` that restores a state. */
export function hashOf(state: State): string {
  const named = names.filter((name) => alwaysNamed.has(name) || state[name] !== initial[name]);
  return new URLSearchParams(Object.fromEntries(named.map((name) => [name, String(state[name])]))).toString();
}

/**
 * The state that a hash describes. Missing fields have their initial values, and unknown fields are ignored. Undefined if the hash
 * names no field, such as the hash of a heading.
 */
export function stateOf(hash: string): State | undefined {
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const named = names.filter((name) => fields.has(name));
  if (named.length === 0) return undefined;
  const read = (name: keyof State) => {
    const text = fields.get(name) as string;
    return typeof initial[name] === 'number' ? numberOf(text) : text;
  };
  return { ...initial, ...Object.fromEntries(named.map((name) => [name, read(name)])) };
}

/** A number as it was typed; NaN for anything else. */
export function numberOf(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}
