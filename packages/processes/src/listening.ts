import { connect as dial } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Address } from './peer-info.js';

/** Attempts to connect to one who has listened, of which the last ones were refused. */
export class Refusals {
  #since: number | undefined;

  /** Takes down what became of an attempt: whether all were refused for so long. */
  haveLasted(seconds: number, why: unknown): boolean {
    const now = performance.now();
    this.#since = isRefused(why) ? (this.#since ?? now) : undefined;
    return this.#since !== undefined && now - this.#since >= seconds * 1000;
  }
}

/** Where one listens, and how long all attempts must be refused until he does no more. */
export interface Listening {
  readonly addresses: readonly Address[];
  /** Where an attempt has succeeded before, or will if he is there. */
  readonly goneSeconds: number;
  /** Where a firewall may refuse all of them. */
  readonly silentSeconds: number;
  readonly isReachable: boolean;
  readonly signal: AbortSignal;
}

const lookMillis = 300;

/** Waits until nobody listens any more. @throws Error where the signal ends that */
export async function untilDeaf({ addresses, goneSeconds, silentSeconds, signal, ...rest }: Listening): Promise<void> {
  const refusals = new Refusals();
  let { isReachable } = rest;
  for (let attempt = 0; ; attempt++) {
    const why = await attemptAt(addresses[attempt % addresses.length] as Address, signal);
    signal.throwIfAborted();
    isReachable ||= why === undefined;
    if (refusals.haveLasted(isReachable ? goneSeconds : silentSeconds, why)) return;
    await pause(lookMillis, undefined, { signal });
  }
}

/** Why it does not succeed; undefined where it does. */
function attemptAt(address: Address, signal: AbortSignal): Promise<Error | undefined> {
  return new Promise((resolve) => {
    const socket = dial(address);
    const end = () => socket.destroy();
    let why: Error | undefined;
    signal.addEventListener('abort', end);
    socket.once('connect', end);
    socket.once('error', (error) => {
      why = error;
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', end);
      resolve(why);
    });
  });
}

function isRefused(why: unknown): boolean {
  return why instanceof Error && 'code' in why && why.code === 'ECONNREFUSED';
}
