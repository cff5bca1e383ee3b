import { ValueError } from './errors.js';
import { quote } from './quote.js';

/** @throws ValueError unless `value` is an array; `what` names the value in the message */
export function requireList(value: unknown, what: string): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw new ValueError('ERR_COLL_VALUE', `${what} must be a list, got ${quote(value)}`);
}

/** @throws ValueError unless `value` is a function; `what` names the value in the message */
export function requireFunction(value: unknown, what: string): asserts value is (...args: never[]) => unknown {
  if (typeof value !== 'function')
    throw new ValueError('ERR_COLL_VALUE', `${what} must be a function, got ${quote(value)}`);
}

/** @throws ValueError unless `value` is a constructor; `what` names the value in the message */
export function requireClass(value: unknown, what: string): void {
  try {
    Reflect.construct(Object, [], value as new () => unknown);
  } catch {
    throw new ValueError('ERR_COLL_VALUE', `${what} must be a class, got ${quote(value)}`);
  }
}

/** @throws ValueError unless the timeout is null or a number of seconds; null and ≤ 0 mean no limit */
export function requireTimeout(timeoutSeconds: unknown): void {
  if (timeoutSeconds === null || (typeof timeoutSeconds === 'number' && !Number.isNaN(timeoutSeconds))) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `timeoutSeconds must be a number of seconds, or null for no limit, got ${quote(timeoutSeconds)}`,
  );
}
