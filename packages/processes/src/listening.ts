import { connect as dial } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Address } from './peer-info.js';

/** Measures for how long all attempts to connect to a listener have been refused. */
export class Refusals {
  #since: number | undefined;

  /**
   * Records the result of an attempt: `why` is the error, or undefined if it succeeded. Returns
   * whether all attempts have been refused for at least `seconds`.
   */
  haveLasted(seconds: number, why: unknown): boolean {
    const now = performance.now();
    this.#since = isRefused(why) ? (this.#since ?? now) : undefined;
    return this.#since !== undefined && now - this.#since >= seconds * 1000;
  }
}

/**
 * A listener's addresses, and the time for which they must refuse connections before the listener
 * counts as gone.
 */
export interface Listening {
  readonly addresses: readonly Address[];
  /**
   * Seconds of refused connections after which the listener counts as gone, if it is known to be
   * reachable.
   */
  readonly goneSeconds: number;
  /**
   * Seconds of refused connections after which the listener counts as gone, if a firewall may be
   * the reason.
   */
  readonly silentSeconds: number;
  readonly isReachable: boolean;
  readonly signal: AbortSignal;
}

const lookMillis = 300;

/** Waits until no process listens at the addresses any more. @throws Error if the signal aborts */
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

/** Why an attempt to connect failed; undefined if it succeeded. */
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
