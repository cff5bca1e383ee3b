import { ValueError } from './errors.js';
import { quote } from './quote.js';

/** @throws ValueError for what is no `AbortSignal`, where there is something */
export function requireSignal(signal: unknown): void {
  if (signal === undefined || signal === null) return;
  // Those of another realm or of a library are welcome.
  const { aborted, addEventListener } = Object(signal) as Partial<AbortSignal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') return;
  throw new ValueError('ERR_COLL_VALUE', `signal is an AbortSignal, not ${quote(signal)}`);
}
