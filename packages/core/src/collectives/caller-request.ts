import type { DType } from '../values/dtype.js';
import { type Collective, isSameCollective, nameOf } from './collective.js';

/**
 * The possible purposes of a collective: `itself` if the caller requested this collective,
 * otherwise the request that the collective is a part of.
 */
export const purposes = [
  'itself',
  'gather',
  'sparse',
  'measure',
  'barrier',
  'split',
  'input',
  'merge',
  'run end',
  'worker end',
  'count',
  'variable',
  'setup',
  'results',
] as const;

/** A possible purpose of a collective. */
export type Purpose = (typeof purposes)[number];

/**
 * The caller's request that a collective is a part of. Ranks compare both the request and the
 * collective; error messages name the request.
 */
export interface CallerRequest {
  readonly collective: Collective;
  readonly dtype: DType;
  /** Length of the whole buffer, in elements. For gathers and sparse values: the number of values. */
  readonly length: number;
  /**
   * What the collective is for: to join values, reduce sparse ones, measure links, wait for all
   * ranks, split a group, read a dataset, begin a merge call, end a run of replicas or of workers,
   * count elements along an axis, create, change or read a variable, exchange settings and
   * addresses, or compare results. Default: the collective itself.
   */
  readonly purpose?: Purpose;
  /** The collective that link measurements are for. Ranks need not agree on it. */
  readonly measuredFor?: Collective | undefined;
  /**
   * For each rank of the executing group, the caller's ranks that it represents, such as `2, 3`.
   * Default: each rank represents itself.
   */
  readonly ranks?: readonly string[] | undefined;
}

/** A collective and the caller's request that it is a part of. */
export interface AskedCall {
  readonly collective: Collective;
  readonly request?: CallerRequest | undefined;
}

/** The name of calls that the library makes for a purpose of its own; undefined if the call keeps its name. */
export function purposeName(purpose: Purpose | undefined): string | undefined {
  switch (purpose) {
    case 'barrier':
    case 'split':
      return purpose;
    case 'input':
      return 'next step of a dataset';
    case 'merge':
      return 'mergeCall';
    case 'run end':
    case 'worker end':
      return 'the end of a run';
    case 'count':
      return 'reduce along an axis';
    case 'variable':
      return 'value of a variable';
    case 'setup':
      return 'exchange of settings';
    case 'results':
      return 'check of results';
    default:
      return undefined;
  }
}

/**
 * The name of a call in error messages: the name of the request if there is one, otherwise the name
 * of the collective.
 *
 * @example
 * ```ts
 * import { operationOf } from '@coll/core/plugin';
 *
 * const collective = { kind: 'broadcast', root: 2 } as const;
 * const request = { collective, dtype: 'float32', length: 4 } as const;
 * const operation = operationOf({ collective: { kind: 'all-gather' }, request });
 * console.log(operation); // broadcast from rank 2
 * ```
 */
export function operationOf({ collective, request }: AskedCall): string {
  if (request?.purpose === 'measure') {
    return `measure the links${request.measuredFor ? ` for ${nameOf(request.measuredFor)}` : ''}`;
  }
  const own = purposeName(request?.purpose);
  if (own !== undefined) return own;
  // The ranks compare the reduce op of sparse values in their first exchange.
  return request?.purpose === 'sparse' ? request.collective.kind : nameOf(request?.collective ?? collective);
}

/** Whether two calls belong to the same request, or both to none. */
export function isSameRequest(one: CallerRequest | undefined, other: CallerRequest | undefined): boolean {
  if (one === other) return true;
  if (!one || !other || one.dtype !== other.dtype || one.length !== other.length) return false;
  const { collective, purpose, ranks } = one;
  return purpose === other.purpose && ranks === other.ranks && isSameCollective(collective, other.collective);
}
