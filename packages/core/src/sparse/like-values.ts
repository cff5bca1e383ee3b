import { requireAlike } from '../kernels/arithmetic.js';
import { InvalidArgumentError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import { sameShape, type Tensor } from '../values/tensor.js';
import { denseShapeOf } from './densify.js';
import type { IndexedSlices } from './indexed-slices.js';
import type { Value } from './sparse.js';

/** What the rows of sparse values must have in common to be joined. */
export interface RowKind {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/**
 * @throws InvalidArgumentError where shapes, or those of rows, differ, InternalError where dtypes do; ValueError for sparse values of open
 * dense shape among dense ones. All name the odd one by position.
 */
export function requireLikeValues(values: readonly Value[], operation = 'reduce'): void {
  const sparse = values.filter((value) => !('data' in value)) as readonly IndexedSlices[];
  const isSparse = sparse.length === values.length && sparse.length > 0;
  if (isSparse) requireLikeRows(sparse.map(rowKindOf), operation);
  else requireAlike(sparse.length > 0 ? values.map(asDense) : (values as readonly Tensor[]), operation);
}

/** What tells whether a value can be added to dense ones. */
function asDense(value: Value, rank: number): Tensor {
  return 'data' in value ? value : { ...value.values, shape: denseShapeOf(value, rank) };
}

export function rowKindOf({ values }: IndexedSlices): RowKind {
  return { dtype: values.dtype, shape: values.shape.slice(1) };
}

/** @throws InvalidArgumentError for rows of different shapes, InternalError for different dtypes */
export function requireLikeRows(kinds: readonly RowKind[], operation = 'reduce'): void {
  const [first] = kinds as readonly [RowKind];
  const odd = kinds.findIndex(({ shape }) => !sameShape(shape, first.shape));
  if (odd >= 0) {
    throw new InvalidArgumentError(
      'ERR_COLL_SHAPE_MISMATCH',
      `${operation}: replica 0 has rows of shape [${first.shape}], replica ${odd} [${kinds[odd]?.shape}]; all need one shape`,
      { operation, rank: odd },
    );
  }
  requireAlike(kinds as readonly Tensor[], operation);
}
