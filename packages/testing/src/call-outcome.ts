import { CollError } from '@coll/core';

/** The class, the code and the rank of the error of a call, or `done`. */
export type CallOutcome = 'done' | readonly [name: string, code: string | undefined, rank: number | undefined];

/** The outcome of a call, as plain values. */
export function outcomeOf(call: Promise<unknown>): Promise<CallOutcome> {
  return call.then(
    () => 'done' as const,
    (error: unknown) =>
      error instanceof CollError ? [error.name, error.code, error.rank] : [String(error), undefined, undefined],
  );
}
