import type { CallMemory, Place } from '../trial.js';

/** The inputs of a call, and the memory for its results, if it gets any. */
export interface CallArrays<Value> {
  readonly inputs: readonly Value[];
  readonly into: readonly Value[] | undefined;
}

/** Makes the arrays of each call. `copy` allocates a value and touches all of its memory. */
export function callArrays<Value>(
  memory: CallMemory,
  place: Place,
  inputs: readonly Value[],
  copy: (value: Value) => Value,
): () => CallArrays<Value> {
  const copies = () => inputs.map(copy);
  switch (memory) {
    case 'known': {
      const known = { inputs, into: place === 'in' ? inputs : copies() };
      return () => known;
    }
    case 'new':
      if (place === 'out') return () => ({ inputs, into: copies() });
      return () => {
        const own = copies();
        return { inputs: own, into: own };
      };
    case 'result': {
      const known = { inputs, into: undefined };
      return () => known;
    }
    case 'both':
    case 'alone':
      return () => ({ inputs: copies(), into: undefined });
    case 'both-alone':
      return () => ({ inputs: copies(), into: copies() });
  }
}

/** Whether the call only allocates memory, and executes no collective. */
export function isAllocationAlone(memory: CallMemory): boolean {
  return memory === 'alone' || memory === 'both-alone';
}
