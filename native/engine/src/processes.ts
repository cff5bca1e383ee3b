import { CollError } from '@coll/core';
import { nativeBinding } from './engine.js';
import type { NativeBinding } from './native-binding.js';
import type { ProcessBinding } from './process-binding.js';

/** The addon, where it has groups of processes. @throws CollError that says why it has not */
export function processBinding(): NativeBinding & { readonly processes: ProcessBinding } {
  const found = nativeBinding();
  if (found.processes) return found as NativeBinding & { readonly processes: ProcessBinding };
  const told = `groups of processes work on Linux only so far, not on ${process.platform}`;
  throw new CollError('ERR_COLL_NO_ENGINE', told, { operation: 'open a group' });
}
