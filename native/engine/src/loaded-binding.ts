import { CollError } from '@coll/core';
import { type BindingSearch, describeAttempts, findBinding } from './binding.js';
import type { NativeBinding } from './native-binding.js';

let searched: BindingSearch | undefined;

/** Loads the C++ addon of this package, or finds out why it cannot be loaded. */
export function searchBinding(): BindingSearch {
  searched ??= findBinding();
  return searched;
}

/** Why no binary was loaded, in one line. */
export function reasonOf(found: Exclude<BindingSearch, { binding: NativeBinding }>): string {
  const what = found.attempts.every(({ isMissing }) => isMissing)
    ? 'its binary is missing'
    : 'its binary cannot be loaded';
  return `${what}; tried ${describeAttempts(found.attempts)}`;
}

/**
 * Returns the C++ addon of this package.
 * @throws CollError that says why the addon cannot be loaded
 */
export function nativeBinding(): NativeBinding {
  const found = searchBinding();
  if ('binding' in found) return found.binding;
  throw new CollError('ERR_COLL_NO_ENGINE', `the native engine is unavailable: ${reasonOf(found)}`);
}
