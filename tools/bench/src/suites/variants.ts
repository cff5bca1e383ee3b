import type { EngineName } from '@coll/core';
import type { AlgorithmName } from '../algorithms.js';
import { type GradientSet, gradientSets } from '../gradients.js';
import { bytesPerElement } from '../sizes.js';
import {
  type Form,
  forms,
  type InputKind,
  inputKinds,
  type Piece,
  type Place,
  type Session,
  type SuiteName,
  type Trial,
  type Turn,
  type VenueName,
} from '../trial.js';
import type { Selection } from './selection.js';

/** An engine of coll, the form of its calls, and the algorithm that it executes. */
export interface Variant {
  readonly engine: EngineName;
  readonly form: Form;
  readonly algorithm: AlgorithmName;
}

/** Unless the forms are chosen, the first engine is measured in all forms, and the others in the first form. */
export function variantsOf({ engines, forms: wanted, algorithms }: Selection): Variant[] {
  return engines.flatMap((engine, index) =>
    (wanted ?? (index === 0 ? forms : forms.slice(0, 1))).flatMap((form) =>
      algorithms.map((algorithm) => ({ engine, form, algorithm })),
    ),
  );
}

/** The networks whose gradients are measured: all, or the smallest one in quick runs. */
function networksOf({ isQuick, networks }: Selection): readonly GradientSet[] {
  return networks ?? (isQuick ? gradientSets.slice(0, 1) : gradientSets);
}

/** A session per network, with the piece that `pieceOf` makes. */
export function sessionsOfNetworks(
  label: string,
  selection: Selection,
  ranks: number,
  pieceOf: (set: GradientSet) => Piece,
): Session[] {
  return networksOf(selection).map((set) => ({ label: `${label} of ${set}`, ranks, pieces: [pieceOf(set)] }));
}

/** Where trials of a communicator run: in a thread per rank, or in the thread that has all ranks. */
export function venueFor(form: Form): VenueName {
  return form === 'controller' ? 'main-thread' : 'rank-threads';
}

/** Only calls that block are measured with fresh inputs, unless the inputs are chosen: awaited calls show the same differences. */
export function inputsFor(form: Form, { inputs }: Selection): readonly InputKind[] {
  return inputs ?? (form === 'sync' ? inputKinds : ['still']);
}

/** The name of a case with its inputs, and with its output if that is not in place. */
export function nameOf(first: string, input: InputKind, place: Place): string {
  return [first, input, ...(place === 'out' ? ['out of place'] : [])].join(' ');
}

/** A trial whose input is still and in place unless it says otherwise. */
export type TrialStart = Omit<Trial, 'input' | 'place'> & Partial<Pick<Trial, 'input' | 'place'>>;

export function trialOf(start: TrialStart): Trial {
  return { input: 'still', place: 'in', ...start };
}

/** A turn of one trial. */
export function turnOf(venue: VenueName, start: TrialStart): Turn {
  return { venue, trials: [trialOf(start)] };
}

/** The yardsticks for a suite at one size: a copy by one thread, and an update by a thread per rank (the memory bound). */
export function yardsticks(
  suite: SuiteName,
  ranks: number,
  bytes: number,
  { hasBound }: Pick<Selection, 'hasBound'>,
  inputs: readonly InputKind[] = ['still'],
): Turn[] {
  const counts = [bytes / bytesPerElement];
  const copy = turnOf('main-thread', { suite, name: 'copy', work: { type: 'copy' }, engine: 'copy', ranks, counts });
  if (!hasBound) return [copy];
  const work = { type: 'collective', kind: 'all-reduce' } as const;
  const bounds = inputs.map((input) =>
    trialOf({ suite, name: `update ${input}`, work, engine: 'bound', input, ranks, counts }),
  );
  return [copy, { venue: 'bound', trials: bounds }];
}

/** Whether so many bytes per rank fit into the memory that a group shares, which is at most 2 GiB. `native` needs no such memory. */
export function fitsMemory({ engine }: Variant, bytesPerRank: number, ranks: number): boolean {
  return engine === 'native' || ranks * bytesPerRank < 2 ** 31;
}
