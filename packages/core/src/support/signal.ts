import { ValueError } from './errors.js';
import { quote } from './quote.js';

/** @throws ValueError unless `signal` is an `AbortSignal` or undefined */
export function requireSignal(signal: unknown): void {
  if (signal === undefined || signal === null) return;
  // Signals of another realm or library are accepted.
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new ValueError('ERR_COLL_VALUE', `signal must be an AbortSignal, got ${quote(signal)}`);
}
