import { ValueError } from './errors.js';
import { quote } from './quote.js';

/** How values are combined. Strategies and replica contexts also take the names in any letter case. */
export const ReduceOp = {
  SUM: 'SUM',
  MEAN: 'MEAN',
  MIN: 'MIN',
  MAX: 'MAX',
  PRODUCT: 'PRODUCT',
} as const;

export type ReduceOp = (typeof ReduceOp)[keyof typeof ReduceOp];

/** A reduce op, or its name in any letter case, as strategies take it. */
export type ReduceOpLike = ReduceOp | Lowercase<ReduceOp>;

export function isReduceOp(value: unknown): value is ReduceOp {
  return typeof value === 'string' && Object.hasOwn(ReduceOp, value);
}

/** The op of that name in any letter case. @throws ValueError for an unknown name. */
export function reduceOpFrom(name: unknown): ReduceOp {
  const upper = typeof name === 'string' ? name.toUpperCase() : name;
  if (isReduceOp(upper)) return upper;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `no reduce op is called ${quote(name)}; there are ${Object.keys(ReduceOp).join(', ')}`,
  );
}

/** Refuses anything that is not a member of `ReduceOp`; names are not converted here. @throws ValueError */
export function validateReduceOp(op: unknown): asserts op is ReduceOp {
  if (isReduceOp(op)) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `${quote(op)} is not a reduce op: pass one of ${Object.keys(ReduceOp)
      .map((name) => `ReduceOp.${name}`)
      .join(', ')}`,
  );
}
