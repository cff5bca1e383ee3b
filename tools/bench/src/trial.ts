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
  'cold',
  'collectives',
  'packing',
  'overlap',
  'processes',
  'mpi',
  'recorder',
] as const;
export type SuiteName = (typeof suiteNames)[number];

/**
 * `sync`: a thread per rank, which blocks. `async`: a thread per rank, which awaits. `controller`: one
 * thread that has all ranks, and awaits.
 */
export const forms = ['sync', 'async', 'controller'] as const;
export type Form = (typeof forms)[number];

/** `still`: the same unchanged buffers in each call. `fresh`: every rank rewrites its input before each call. */
export const inputKinds = ['still', 'fresh'] as const;
export type InputKind = (typeof inputKinds)[number];

/** Whether the output is in place, or in other memory. */
export const places = ['in', 'out'] as const;
export type Place = (typeof places)[number];

/** `arena`: memory that the communicator's group allocates. `ordinary`: any other array. */
export type Memory = 'arena' | 'ordinary';

/** The memory that is measured over each transport. Groups only have their own memory if they share it. */
export const memoriesOver: Readonly<Record<Transport, readonly Memory[]>> = {
  'shared-memory': ['arena', 'ordinary'],
  tcp: ['ordinary'],
  'encrypted-tcp': ['ordinary'],
};

/** The measured call. */
export type Work =
  /** A communicator's collective on one buffer. */
  | { readonly type: 'collective'; readonly kind: CollectiveKind }
  /** A communicator's all-reduce of a list of tensors in one call, as if they were one buffer. */
  | { readonly type: 'pieces' }
  /** A replica context's all-reduce of one array, or of a list. */
  | { readonly type: 'context'; readonly memory: CallMemory }
  /** Cross-device ops' `reduce` of one value to its own devices. */
  | { readonly type: 'reduce'; readonly memory: CallMemory }
  /** Cross-device ops' all-reduce of a list of tensors. Default of `memory`: known. */
  | {
      readonly type: 'batch';
      readonly bytesPerPack: number;
      readonly packing?: PackingOptions;
      readonly memory?: CallMemory;
    }
  /** A strategy's `run` of idle replicas: a function in this thread, or a module in worker threads. */
  | { readonly type: 'run' }
  /** A replica context's all-reduce of a list of tensors that are computed one after the other, the last one first. */
  | Overlap
  /** A communicator's all-reduce of one buffer, with or without the flight recorder of the thread. */
  | { readonly type: 'recorded'; readonly isRecorded: boolean }
  /** A communicator's all-reduce while 1 ms timers run in the thread that awaits it. */
  | { readonly type: 'ticking' }
  /** A plain copy of memory, for comparison. */
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

/** The part of coll's API that a trial calls. */
export type Level = 'communicator' | 'ops' | 'context' | 'strategy';

/** The level of a trial; undefined if it calls nothing of coll's API. */
export function levelOf({ engine, work }: Trial): Level | undefined {
  if (engine === 'peer' || engine === 'copy' || engine === 'bound') return undefined;
  switch (work.type) {
    case 'collective':
    case 'pieces':
    case 'ticking':
    case 'recorded':
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
  /**
   * `computed`: only the computation. `after`: the computation, then the all-reduce. `overlapped`: an
   * all-reduce of promises during the computation.
   */
  readonly order: 'computed' | 'after' | 'overlapped';
  /** Whether the replica's own thread computes. Otherwise it waits, as for a device that computes. */
  readonly isBusy: boolean;
  readonly bytesPerPack: number;
  /** The time of all tensors together. Each tensor takes a share by its length. */
  readonly computeMillis: number;
}

/** One case at one size. It is plain data, because it is sent to the threads and processes that measure it. */
export interface Trial {
  readonly suite: SuiteName;
  readonly name: string;
  readonly work: Work;
  /** `bound`: a thread per rank, each of which updates its own memory. */
  readonly engine: EngineName | 'mpi' | 'peer' | 'copy' | 'bound';
  /** Only for engines of coll. */
  readonly form?: Form;
  readonly algorithm?: AlgorithmName;
  readonly peer?: PeerName;
  readonly gradients?: string;
  /** Only in the suite `mpi`. */
  readonly library?: MpiName;
  /** How many calls of a fresh process a sample is the mean of. Undefined: samples are taken once V8 has compiled the calls. */
  readonly first?: number;
  /** Only for processes of coll. */
  readonly transport?: Transport;
  readonly memory?: Memory;
  readonly input: InputKind;
  readonly place: Place;
  readonly ranks: number;
  /** The elements of each tensor: of a rank's input or output, whichever is larger. */
  readonly counts: readonly number[];
}

export function elementsOf({ counts }: Trial): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function bytesOf(trial: Trial): number {
  return elementsOf(trial) * bytesPerElement;
}

/** The engine and the form of its calls, for people. */
export function executorOf({ engine, form }: { readonly engine: string; readonly form?: Form }): string {
  return form === undefined ? engine : `${engine} ${form}`;
}

/** Names a trial, for people. */
export function describeTrial(trial: Trial): string {
  const { suite, name, ranks } = trial;
  return `${suite}, ${name}, ${executorOf(trial)}, ${ranks} ranks, ${formatBytes(bytesOf(trial))}`;
}

/** Trials that one venue measures together. */
export interface Turn {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
}

/** A venue in a process that is started for each sample. */
export type FreshVenueName = `fresh-${'main-thread' | 'replica-threads' | 'rank-processes' | 'mpi4py'}`;

export type VenueName =
  | FreshVenueName
  | 'main-thread'
  | 'rank-threads'
  | 'rank-processes'
  | 'replica-threads'
  | 'bound'
  | PeerName
  | `mpi-${MpiName}`;

/** Turns that run one after the other in every round, so that changes of the machine affect all of them. */
export type Piece = readonly Turn[];

/** Pieces that share threads and memory. */
export interface Session {
  readonly label: string;
  readonly ranks: number;
  readonly pieces: readonly Piece[];
}
