import { ValueError } from './errors.js';
import { quote } from './quote.js';

/**
 * The options of a constructor, as they were given; none for undefined.
 * @throws ValueError for what is no object, such as a value in the place that it has in other libraries
 */
export function optionsOf<Options extends object>(options: Options | undefined, example: string): Partial<Options> {
  if (options === undefined) return {};
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) return options;
  throw new ValueError('ERR_COLL_VALUE', `options are an object, ${example}, not ${quote(options)}`);
}
