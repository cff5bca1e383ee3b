import type { CollectiveKind, EngineName, PackingOptions } from '@coll/core';
import type { AlgorithmName } from './algorithms.js';
import type { MpiName, PeerName, Transport } from './peers/peers.js';
import { bytesPerElement, formatBytes } from './sizes.js';

export const suiteNames = [
  'in-process',
  'gradients',
  'event-loop',
  'strategy',
  'ops',
  'runs',
  'collectives',
  'packing',
  'overlap',
  'processes',
  'mpi',
] as const;
export type SuiteName = (typeof suiteNames)[number];

/** `sync`: a thread a rank, which blocks; `async`: a thread a rank, which awaits; `controller`: one thread that holds all ranks, and awaits. */
export const forms = ['sync', 'async', 'controller'] as const;
export type Form = (typeof forms)[number];

/** `still`: the same buffers again and again, untouched. `fresh`: every rank rewrites its input before each call. */
export const inputKinds = ['still', 'fresh'] as const;
export type InputKind = (typeof inputKinds)[number];

/** Whether a call's output is the memory of its input, or other memory. */
export const places = ['in', 'out'] as const;
export type Place = (typeof places)[number];

/** `arena`: what the communicator's group allocates. `ordinary`: any other array. */
export type Memory = 'arena' | 'ordinary';

/** What groups work on; they have memory of their own where they share it. */
export const memoriesOver: Readonly<Record<Transport, readonly Memory[]>> = {
  'shared-memory': ['arena', 'ordinary'],
  tcp: ['ordinary'],
};

/** What is called over and over. */
export type Work =
  /** A communicator's collective on one buffer. */
  | { readonly type: 'collective'; readonly kind: CollectiveKind }
  /** A communicator's all-reduce of a list of tensors in one call, as pieces of one buffer. */
  | { readonly type: 'pieces' }
  /** A replica context's all-reduce of one array, or of a list. */
  | { readonly type: 'context'; readonly memory: CallMemory }
  /** Cross-device ops' reduce of one value to its own devices. */
  | { readonly type: 'reduce'; readonly memory: CallMemory }
  /** Cross-device ops' all-reduce of a list of tensors; on known memory unless `memory` is given. */
  | {
      readonly type: 'batch';
      readonly bytesPerPack: number;
      readonly packing?: PackingOptions;
      readonly memory?: CallMemory;
    }
  /** A strategy's run of replicas that do nothing: a function in this thread, or a module in worker threads. */
  | { readonly type: 'run' }
  /** A replica context's all-reduce of a list of tensors that are computed one after the other, the last one first. */
  | Overlap
  /** A communicator's all-reduce while timers of a millisecond tick in the thread that awaits it. */
  | { readonly type: 'ticking' }
  /** A plain copy of memory, which everything is compared with. */
  | { readonly type: 'copy' };

/**
 * The arrays of a call through a context or ops.
 *
 * | | input | result | out of place |
 * |---|---|---|---|
 * | `known` | the same array in each call | that array, by `into` | another known array, by `into` |
 * | `new` | a new array in each call | that array, by `into` | a new array, by `into`, of a known input |
 * | `result` | the same array in each call | without `into` | |
 * | `both` | a new array in each call | without `into` | |
 * | `alone` | a new array in each call, which nobody reduces | none | |
 * | `both-alone` | two new arrays in each call, which nobody reduces | none | |
 *
 * Without a reduction, replicas still meet: they all-reduce one number.
 */
export const callMemory = ['known', 'new', 'result', 'both', 'alone', 'both-alone'] as const;
export type CallMemory = (typeof callMemory)[number];

/** The part of the API that a trial calls. */
export type Level = 'communicator' | 'ops' | 'context' | 'strategy';

/** Undefined if a trial calls none of it. */
export function levelOf({ engine, work }: Trial): Level | undefined {
  if (engine === 'peer' || engine === 'copy' || engine === 'bound') return undefined;
  switch (work.type) {
    case 'collective':
    case 'pieces':
    case 'ticking':
      return 'communicator';
    case 'reduce':
    case 'batch':
      return 'ops';
    case 'context':
    case 'overlap':
      return 'context';
    case 'run':
      return 'strategy';
    case 'copy':
      return undefined;
  }
}

export interface Overlap {
  readonly type: 'overlap';
  /** `computed`: the computation alone. `after`: it, then the all-reduce. `overlapped`: an all-reduce of promises meanwhile. */
  readonly order: 'computed' | 'after' | 'overlapped';
  /** Whether the replica's own thread computes, or waits for somebody who does, such as another device. */
  readonly isBusy: boolean;
  readonly bytesPerPack: number;
  /** Of all tensors together, each its share by length. */
  readonly computeMillis: number;
}

/** One case at one size. Plain data: it is posted to the threads that run it. */
export interface Trial {
  readonly suite: SuiteName;
  readonly name: string;
  readonly work: Work;
  /** `bound`: as many threads as ranks, each of which updates memory of its own. */
  readonly engine: EngineName | 'mpi' | 'peer' | 'copy' | 'bound';
  /** Only where an engine of ours is measured. */
  readonly form?: Form;
  readonly algorithm?: AlgorithmName;
  readonly peer?: PeerName;
  readonly gradients?: string;
  /** Only in the suite `mpi`. */
  readonly library?: MpiName;
  /** Only where ranks are processes of ours. */
  readonly transport?: Transport;
  readonly memory?: Memory;
  readonly input: InputKind;
  readonly place: Place;
  readonly ranks: number;
  /** Elements of each tensor: of a rank's input, or its output where that is larger. */
  readonly counts: readonly number[];
}

export function elementsOf({ counts }: Trial): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function bytesOf(trial: Trial): number {
  return elementsOf(trial) * bytesPerElement;
}

/** For people. */
export function describeTrial(trial: Trial): string {
  const { suite, name, engine, form, ranks } = trial;
  const player = form === undefined ? engine : `${engine} ${form}`;
  return `${suite}, ${name}, ${player}, ${ranks} ranks, ${formatBytes(bytesOf(trial))}`;
}

/** Trials that are run in one go at one place. */
export interface Turn {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
}

export type VenueName =
  | 'main-thread'
  | 'rank-threads'
  | 'rank-processes'
  | 'replica-threads'
  | 'bound'
  | PeerName
  | `mpi-${MpiName}`;

/** Turns that are taken one after the other, round after round, so that what changes on the machine meets all of them. */
export type Piece = readonly Turn[];

/** Pieces for which threads and memory are kept. */
export interface Session {
  readonly label: string;
  readonly ranks: number;
  readonly pieces: readonly Piece[];
}
