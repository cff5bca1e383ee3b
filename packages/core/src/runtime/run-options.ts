import { ValueError } from '../support/errors.js';
import { knownOptions, requireKnownOptions } from '../support/known-options.js';
import { quote } from '../support/quote.js';
import { requireTimeout } from '../support/requirements.js';
import { requireSignal } from '../support/signal.js';
import type { RunOptions } from './communicator.js';

const runOptions = knownOptions<RunOptions>('Communicator.run', {
  signal: true,
  timeoutSeconds: true,
  layout: true,
  valueCount: true,
  values: true,
  sharedResult: true,
  checkCalls: true,
  request: true,
  turn: true,
});

/**
 * The options without those that are undefined or false. Written field by field because spreads
 * cost more than a small collective.
 */
export function setRunOptions(
  given: { readonly [Name in keyof RunOptions]: RunOptions[Name] | undefined },
): RunOptions {
  const options: { -readonly [Name in keyof RunOptions]: RunOptions[Name] } = {};
  if (given.timeoutSeconds !== undefined) options.timeoutSeconds = given.timeoutSeconds;
  if (given.layout !== undefined) options.layout = given.layout;
  if (given.valueCount) options.valueCount = given.valueCount;
  if (given.values) options.values = given.values;
  if (given.request) options.request = given.request;
  if (given.signal) options.signal = given.signal;
  if (given.sharedResult) options.sharedResult = true;
  if (given.checkCalls) options.checkCalls = true;
  if (given.turn) options.turn = given.turn;
  return options;
}

/** @throws ValueError unless `options` has known names only, a valid signal and a valid timeout */
export function requireRunOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw new ValueError('ERR_COLL_VALUE', `the options of a collective must be an object, got ${quote(options)}`);
  requireKnownOptions(options, runOptions);
  const { signal, timeoutSeconds } = options as { readonly signal?: unknown; readonly timeoutSeconds?: unknown };
  if (signal !== undefined) requireSignal(signal);
  if (timeoutSeconds !== undefined) requireTimeout(timeoutSeconds);
}

/** The deadline of a call that begins now, as a time of `Date.now()`; undefined means no limit. */
export function deadlineOf({ timeoutSeconds }: RunOptions): number | undefined {
  return timeoutSeconds && timeoutSeconds > 0 ? Date.now() + timeoutSeconds * 1000 : undefined;
}
