import { quote } from '@coll/core/internal';
import { invalid, isLikeArray, type JaxArray, requireConcrete } from './arrays.js';
import { leavesOf } from './trees.js';

/** How many samples a call uses: a number, or a function of the arguments of the call. Undefined: the first axis of the arrays. */
export type Samples = number | ((...args: never[]) => number) | undefined;

/**
 * The number of samples of a call: what `samples` says, else the common length of the first axis of all arrays after
 * the first argument. Numbers and arrays without axes do not count.
 * @throws ValueError if it cannot be known
 */
export function samplesOf(args: readonly unknown[], samples: Samples, operation: string): number {
  const arrays = args.map((arg, index) => arraysIn(arg, `argument ${index + 1}`, operation));
  if (samples !== undefined) {
    const given = typeof samples === 'function' ? samples(...(args as never[])) : samples;
    if (Number.isFinite(given) && given >= 0) return given;
    throw invalid(operation, `samples must be a number from 0, or a function that returns one, got ${quote(given)}`);
  }
  const lengths = arrays
    .slice(1)
    .flat()
    .flatMap(({ path, array }) => {
      const [length] = array.shape;
      return length === undefined ? [] : [{ path, length }];
    });
  const [first] = lengths;
  const other = lengths.find(({ length }) => length !== first?.length);
  if (first && !other) return first.length;
  const what = first
    ? `the arrays after the first argument differ in their first axis: ${first.length} in ${first.path}, ${other?.length} in ${other?.path}`
    : 'no argument after the first one is an array whose first axis counts samples';
  throw invalid(operation, `${what}; pass the option samples: a number, or a function of the arguments`);
}

/** The arrays of an argument, which may also hold numbers and static values. */
function arraysIn(arg: unknown, name: string, operation: string): { path: string; array: JaxArray }[] {
  return leavesOf(arg, name, operation).flatMap(({ path, value }) => {
    if (!isLikeArray(value)) return [];
    requireConcrete(value, path, operation);
    return [{ path, array: value }];
  });
}
