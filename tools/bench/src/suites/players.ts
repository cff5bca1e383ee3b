import type { EngineName } from '@coll/core';
import type { AlgorithmName } from '../algorithms.js';
import { type GradientSet, gradientSets } from '../gradients.js';
import { bytesPerElement } from '../sizes.js';
import {
  type Form,
  forms,
  type InputKind,
  inputKinds,
  type Place,
  type SuiteName,
  type Turn,
  type VenueName,
} from '../trial.js';
import type { Selection } from './selection.js';

/** An engine, how it is called, and the algorithm that it plays. */
export interface Player {
  readonly engine: EngineName;
  readonly form: Form;
  readonly algorithm: AlgorithmName;
}

/** Who plays, if the forms are not chosen: the first engine in all forms, the others in the first. */
export function playersOf({ engines, forms: wanted, algorithms }: Selection): Player[] {
  return engines.flatMap((engine, index) =>
    (wanted ?? (index === 0 ? forms : forms.slice(0, 1))).flatMap((form) =>
      algorithms.map((algorithm) => ({ engine, form, algorithm })),
    ),
  );
}

/** Networks whose gradients are measured: all, or the smallest where it has to be quick. */
export function networksOf({ isQuick, networks }: Selection): readonly GradientSet[] {
  return networks ?? (isQuick ? gradientSets.slice(0, 1) : gradientSets);
}

/** A communicator's trials run in a thread a rank, or in the thread that has all ranks. */
export function venueFor(form: Form): VenueName {
  return form === 'controller' ? 'main-thread' : 'rank-threads';
}

/** A call that waits looks the same with fresh inputs, unless they are asked for. */
export function inputsFor(form: Form, { inputs }: Selection): readonly InputKind[] {
  return inputs ?? (form === 'sync' ? inputKinds : ['still']);
}

/** Whose memory a call works on, after its name. */
export function nameOf(first: string, input: InputKind, place: Place): string {
  return [first, input, ...(place === 'out' ? ['out of place'] : [])].join(' ');
}

/** What all trials of a suite on as many bytes are compared with: a copy by one thread, and an update by a thread a rank. */
export function yardsticks(suite: SuiteName, ranks: number, bytes: number, selection: Selection): Turn[] {
  const counts = [bytes / bytesPerElement];
  const place = 'in';
  const copy = {
    suite,
    name: 'copy',
    work: { type: 'copy' },
    engine: 'copy',
    input: 'still',
    place,
    ranks,
    counts,
  } as const;
  const turns: Turn[] = [{ venue: 'main-thread', trials: [copy] }];
  if (!selection.hasBound) return turns;
  const work = { type: 'collective', kind: 'all-reduce' } as const;
  const bounds = (selection.inputs ?? inputKinds).map(
    (input) => ({ suite, name: `update ${input}`, work, engine: 'bound', input, place, ranks, counts }) as const,
  );
  return [...turns, { venue: 'bound', trials: bounds }];
}

/** Whether a group's shared memory, 2 GiB at most, has room for that many buffers a rank; native code needs no such memory. */
export function fitsMemory({ engine }: Player, bytesOfBuffers: number, ranks: number): boolean {
  return engine === 'native' || ranks * bytesOfBuffers < 2 ** 31;
}
