import { AbortedError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import type { SharedBarrier, Wait } from './shared-barrier.js';

/**
 * Runs `work`, in which a rank waits for others. Meanwhile the event loop stays alive, and aborting
 * `signal` fails the group.
 */
export async function attended(
  barrier: SharedBarrier,
  { rank, operation }: Wait,
  signal: AbortSignal | undefined,
  work: () => Promise<void>,
): Promise<void> {
  const abort = () =>
    barrier.fail({ reason: 'aborted', rank, ranks: [], text: `aborted: ${messageOf(signal?.reason)}` });
  // A pending Atomics.waitAsync does not keep a thread's event loop alive; a timer does.
  const alive = setInterval(() => {}, 2 ** 30);
  signal?.addEventListener('abort', abort);
  try {
    if (signal?.aborted) abort();
    await work();
  } catch (error) {
    if (!(error instanceof AbortedError && signal?.aborted)) throw error;
    throw barrier.failure(operation, signal.reason);
  } finally {
    clearInterval(alive);
    signal?.removeEventListener('abort', abort);
  }
}
