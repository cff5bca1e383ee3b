import { setImmediate, setTimeout } from 'node:timers/promises';

/** A call that is over before it has returned. */
export const settled: Promise<void> = Promise.resolve();

/** Lets the event loop do what else there is to do. */
export function nextTurn(): Promise<void> {
  return setImmediate();
}

// A thread that is busy with something else may be so for long: looking after it must not cost a core.
const eagerLooks = 20;
const mostMillis = 8;

/** The same, for the `look`th time in vain; later ones wait longer. */
export async function laterTurn(look: number): Promise<void> {
  if (look < eagerLooks) await setImmediate();
  else await setTimeout(Math.min(look - eagerLooks + 1, mostMillis));
}
