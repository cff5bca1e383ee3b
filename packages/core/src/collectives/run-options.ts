import { ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { quote } from '../support/quote.js';
import { requireSignal } from '../support/signal.js';
import type { RunOptions } from './communicator.js';

const runOptions = knownOptions<RunOptions>('Communicator.run', {
  signal: true,
  timeoutSeconds: true,
  layout: true,
  sharedResult: true,
  checkCalls: true,
  request: true,
  turn: true,
});

/** @throws ValueError for what is no `RunOptions`, has an unknown name, or a signal or a time that is none */
export function requireRunOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new ValueError('ERR_COLL_VALUE', `the options of a collective are an object, not ${quote(options)}`);
  requireKnownOptions(options, runOptions);
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
