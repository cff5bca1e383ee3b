import { setImmediate, setTimeout } from 'node:timers/promises';

const mostNewCalls = 256;

/**
 * What native code made of calls on new arrays is freed in turns of the event loop only. Calls that are over before they have returned
 * let none come, so that every now and then one has to wait for it.
 */
export class NewCalls {
  #count = 0;

  add(): void {
    this.#count++;
  }

  /** Whether a turn is due; asked once for each. */
  isTurnDue(): boolean {
    if (this.#count < mostNewCalls) return false;
    this.#count = 0;
    return true;
  }
}

// Two that wait for each other meet while both are inside their calls: most of the time at first, half of it later, when a thread is busy with something else.
const eagerLooks = 50;
const pauseMillis = 2;

/** Lets the event loop do what else there is to do, for the `look`th time in vain. */
export async function laterTurn(look: number): Promise<void> {
  if (look < eagerLooks) await setImmediate();
  else await setTimeout(pauseMillis);
}
