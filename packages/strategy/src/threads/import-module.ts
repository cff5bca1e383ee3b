import { CollError } from '@coll/core';
import { ofModule, withNote } from '../replicas/replica-error.js';

/**
 * @throws CollError if the module, or a module that it imports, does not exist; SyntaxError with the
 * URL of the module if one of them does not parse; the error that the module throws
 */
export async function importModule(module: string): Promise<Record<string, unknown>> {
  try {
    return (await import(/* webpackIgnore: true */ /* @vite-ignore */ module)) as Record<string, unknown>;
  } catch (cause) {
    const { code, message } = cause as { readonly code?: string; readonly message: string };
    // Node.js prints the place where a module does not parse, but does not put it into the error.
    if (cause instanceof SyntaxError)
      throw withNote(
        ofModule(cause, module),
        '; `node` with this file prints the line, which may be in a module that it imports',
      );
    if (code !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new CollError('ERR_COLL_MODULE', `${module} cannot be loaded in a worker thread: ${message}`, { cause });
  }
}
