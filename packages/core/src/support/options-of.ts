import { ValueError } from './errors.js';
import { type KnownOptions, requireKnownOptions } from './known-options.js';
import { quote } from './quote.js';

/**
 * The options of a public call, unchanged; empty for undefined.
 * @throws ValueError unless `options` is an object without unknown names. This also catches
 * positional arguments, which other libraries accept. The message shows `example`.
 */
export function optionsOf<Options extends object>(
  options: Options | undefined,
  example: string,
  known: KnownOptions,
): Partial<Options> {
  if (options === undefined) return {};
  if (typeof options !== 'object' || options === null || Symbol.iterator in options)
    throw new ValueError('ERR_COLL_VALUE', `options must be an object, ${example}, got ${quote(options)}`);
  requireKnownOptions(options, known);
  return options;
}
