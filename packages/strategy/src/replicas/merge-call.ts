import { ValueError } from '@coll/core';
import { isMapping, quote } from '@coll/core/internal';
import type { MergeFunction } from '../scope/strategy.js';

/**
 * The arguments of a merge call, named ones last.
 * @throws ValueError unless `fn` is a function, `args` a list and `kwargs` an object
 */
export function requireMergeCall<Args extends readonly unknown[]>(
  fn: MergeFunction<Args>,
  args?: readonly unknown[],
  kwargs?: Readonly<Record<string, unknown>>,
): Args {
  const isCall = typeof fn === 'function' && (args === undefined || Array.isArray(args));
  if (isCall && (kwargs === undefined || isMapping(kwargs)))
    return [...(args ?? []), ...(kwargs ? [kwargs] : [])] as unknown as Args;
  const given = [fn, args, ...(kwargs === undefined ? [] : [kwargs])].map(quote).join(', ');
  throw new ValueError(
    'ERR_COLL_VALUE',
    `mergeCall takes a function, a list of arguments and an object of named arguments, got ${given}`,
    { operation: 'mergeCall' },
  );
}
