import { ValueError } from './errors.js';
import { quote } from './quote.js';
import { requireSignal } from './signal.js';

/** @throws ValueError for what is no `RunOptions`, or has a signal or a time in it that is none */
export function requireRunOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new ValueError('ERR_COLL_VALUE', `the options of a collective are an object, not ${quote(options)}`);
  const { signal, timeoutSeconds } = options as { readonly signal?: unknown; readonly timeoutSeconds?: unknown };
  if (signal !== undefined) requireSignal(signal);
  if (timeoutSeconds !== undefined) requireTimeout(timeoutSeconds);
}

/** @throws ValueError for a time to wait that is no number of seconds; null, 0 and less are for ever */
export function requireTimeout(timeoutSeconds: unknown): void {
  if (timeoutSeconds === null || (typeof timeoutSeconds === 'number' && !Number.isNaN(timeoutSeconds))) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `timeoutSeconds is a number of seconds, or null for as long as it takes, not ${quote(timeoutSeconds)}`,
  );
}
