import { ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

const members = { SUM: 'SUM', MEAN: 'MEAN', MIN: 'MIN', MAX: 'MAX', PRODUCT: 'PRODUCT' } as const;

export type ReduceOp = (typeof members)[keyof typeof members];

/**
 * How values are combined. Strategies and replica contexts also accept the names in any letter
 * case.
 *
 * @example
 * ```ts
 * import { openMembers, ReduceOp } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 *
 * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const [largest] = await Promise.all(
 *   members.map((member) => member.allReduce(ReduceOp.MAX, new Int32Array([member.rank]))),
 * );
 * console.log(largest); // Int32Array(1) [ 1 ]
 * ```
 */
export const ReduceOp: typeof members & {
  /**
   * The reduce op for a variable's aggregation.
   * @throws ValueError for anything but `SUM` and `MEAN`; the aggregations `NONE` and
   * `ONLY_FIRST_REPLICA` combine nothing
   */
  fromVariableAggregation(aggregation: unknown): ReduceOp;
  // Not enumerable, so that `Object.values` returns only the members.
} = Object.defineProperty({ ...members } as never, 'fromVariableAggregation', { value: fromVariableAggregation });

/** A reduce op, or its name in any letter case. */
export type ReduceOpLike = ReduceOp | Lowercase<ReduceOp>;

/**
 * All reduce ops.
 *
 * @example
 * ```ts
 * import { reduceOps } from '@coll/core/plugin';
 *
 * console.log(reduceOps.join(' ')); // SUM MEAN MIN MAX PRODUCT
 * ```
 */
export const reduceOps: readonly ReduceOp[] = Object.values(members);

// The usual spellings, because converting a name takes longer than looking it up.
const byName = new Map<unknown, ReduceOp>(
  Object.values(members).flatMap((op) => [
    [op, op],
    [op.toLowerCase(), op],
  ]),
);

/** Whether a value is a member of `ReduceOp`. */
export function isReduceOp(value: unknown): value is ReduceOp {
  return typeof value === 'string' && Object.hasOwn(members, value);
}

/**
 * The reduce op of this name, in any letter case.
 * @throws ValueError for an unknown name.
 *
 * @example
 * ```ts
 * import { reduceOpFrom } from '@coll/core/plugin';
 *
 * console.log(reduceOpFrom('mean')); // MEAN
 * ```
 */
export function reduceOpFrom(name: unknown): ReduceOp {
  const known = byName.get(name);
  if (known) return known;
  const upper = typeof name === 'string' ? name.toUpperCase() : name;
  if (isReduceOp(upper)) return upper;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `unknown reduce op ${quote(name)}; it must be one of ${Object.keys(members).join(', ')}`,
  );
}

/** Rejects anything but a member of `ReduceOp`; names are not converted here. @throws ValueError */
export function validateReduceOp(op: unknown): asserts op is ReduceOp {
  if (isReduceOp(op)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `${quote(op)} is not a reduce op: pass one of ${Object.keys(members)
      .map((name) => `ReduceOp.${name}`)
      .join(', ')}`,
  );
}

function fromVariableAggregation(aggregation: unknown): ReduceOp {
  if (aggregation === ReduceOp.SUM || aggregation === ReduceOp.MEAN) return aggregation;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `the aggregation ${quote(aggregation)} has no reduce op: only SUM and MEAN combine the values of replicas`,
  );
}
