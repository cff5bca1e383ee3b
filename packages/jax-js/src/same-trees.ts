import { InvalidArgumentError } from '@coll/core';
import { type Exchange, gatherValues, hashOf, oddReplicas, type ReplicaInfo } from '@coll/strategy/internal';
import type { Form } from './arrays.js';

/** What an array is, and its place in a tree. */
export interface NamedForm extends Form {
  readonly path: string;
}

/** What replicas tell each other before they send arrays. */
interface Announcement {
  readonly operation: string;
  readonly forms: readonly NamedForm[];
}

/** The fewest and the most samples of a replica. */
export interface SampleRange {
  readonly fewest: number;
  readonly most: number;
}

/**
 * Checks that all replicas call the same function with trees of the same structure, shapes and dtypes. If they do, this
 * takes a single all-reduce of four numbers. Trees are not compared if a replica has no samples, and so no arrays.
 * @throws InvalidArgumentError, the same on all replicas, with the first array that differs
 */
export function* requireSameTrees(
  operation: string,
  forms: readonly NamedForm[],
  info: ReplicaInfo,
  samples = 1,
): Exchange<SampleRange> {
  const announcement: Announcement = { operation, forms };
  const hash = hashOf(textOf(announcement));
  const extremes = Float64Array.of(hash, -hash, samples, -samples);
  yield { op: 'max', values: [extremes], into: [extremes] };
  const [highest, lowestNegated, most, fewestNegated] = extremes as unknown as [number, number, number, number];
  if (fewestNegated !== 0 && highest !== -lowestNegated) throw differenceOf(yield* gatherValues(announcement, info));
  return { fewest: -fewestNegated, most };
}

/** Whether two lists of forms are equal. */
export function areSameForms(one: readonly NamedForm[], other: readonly NamedForm[]): boolean {
  return one.length === other.length && one.every((form, index) => isSameForm(form, other[index] as NamedForm));
}

function isSameForm(one: NamedForm, other: NamedForm): boolean {
  return (
    one.path === other.path &&
    one.dtype === other.dtype &&
    one.shape.length === other.shape.length &&
    one.shape.every((length, axis) => length === other.shape[axis])
  );
}

function textOf({ operation, forms }: Announcement): string {
  return JSON.stringify([operation, forms.map(({ path, dtype, shape }) => [path, dtype, shape])]);
}

function differenceOf(all: readonly Announcement[]): InvalidArgumentError {
  const operations = all.map(({ operation }) => operation);
  const [caller] = oddReplicas(operations);
  const name = operations[0] as string;
  if (caller !== undefined) return mismatch(`replicas call different functions: ${onReplicas(operations)}`, caller);
  const textsAt = (path: string) => all.map(({ forms }) => describe(forms.find((form) => form.path === path)));
  const paths = new Set(all.flatMap(({ forms }) => forms.map(({ path }) => path)));
  for (const path of paths) {
    const texts = textsAt(path);
    const [odd] = oddReplicas(texts);
    if (odd !== undefined)
      return mismatch(`${name}: replicas have different trees: ${path} is ${onReplicas(texts)}`, odd);
  }
  return mismatch(`${name}: replicas have different trees`, undefined);
}

function describe(form: NamedForm | undefined): string {
  return form ? `${form.dtype} [${form.shape}]` : 'missing';
}

function onReplicas(texts: readonly string[]): string {
  return texts.map((text, replica) => `${text} on replica ${replica}`).join(', ');
}

function mismatch(message: string, rank: number | undefined): InvalidArgumentError {
  return new InvalidArgumentError('ERR_COLL_MISMATCH', message, { rank });
}
