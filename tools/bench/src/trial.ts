import type { CollectiveKind } from '@coll/core';
import type { AlgorithmName } from './algorithms.js';
import type { PeerName } from './peers/peers.js';
import { bytesPerElement, formatBytes } from './sizes.js';

export const suiteNames = ['in-process', 'strategy', 'collectives', 'packing'] as const;
export type SuiteName = (typeof suiteNames)[number];

/** What plays our collectives, and whether the caller blocks or awaits. */
export const engines = ['portable', 'threads-sync', 'threads-async'] as const;
export type Engine = (typeof engines)[number];

/** `still`: the same buffers again and again, untouched. `fresh`: every rank rewrites its input before each call. */
export const inputKinds = ['still', 'fresh'] as const;
export type InputKind = (typeof inputKinds)[number];

/** What is called over and over. */
export type Work =
  /** A communicator's collective on one buffer. */
  | { readonly type: 'collective'; readonly kind: CollectiveKind }
  /** A replica context's all-reduce of one array. */
  | { readonly type: 'context' }
  /** Cross-device ops' all-reduce of a list of tensors. */
  | { readonly type: 'batch'; readonly gradients: string; readonly bytesPerPack: number }
  /** A plain copy of memory, which everything is compared with. */
  | { readonly type: 'copy' };

/** One case at one size. Plain data: it is posted to the threads that run it. */
export interface Trial {
  readonly suite: SuiteName;
  readonly name: string;
  readonly work: Work;
  readonly engine: Engine | 'peer' | 'copy';
  readonly algorithm?: AlgorithmName;
  readonly peer?: PeerName;
  readonly input: InputKind;
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
  return `${trial.suite}, ${trial.name}, ${trial.engine}, ${trial.ranks} ranks, ${formatBytes(bytesOf(trial))}`;
}

/** Trials that are run in one go at one place. */
export interface Turn {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
}

export type VenueName = 'main-thread' | 'rank-threads' | 'replica-threads' | PeerName;

/** Turns that are taken one after the other, round after round, so that what changes on the machine meets all of them. */
export type Piece = readonly Turn[];

/** Pieces for which threads and memory are kept. */
export interface Session {
  readonly label: string;
  readonly ranks: number;
  readonly pieces: readonly Piece[];
}
