import { rankError } from '../collectives/failures.js';
import { requireAlike } from '../kernels/arithmetic.js';
import { InvalidArgumentError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import type { IndexedSlices, Value } from '../values/indexed-slices.js';
import { sameShape, type Tensor } from '../values/tensor.js';
import { denseShapeOf } from './densify.js';

/** Properties that the rows of sparse values must share to be joined. */
export interface RowKind {
  readonly dtype: DType;
  readonly shape: readonly number[];
}

/**
 * @throws InvalidArgumentError if shapes (of sparse values: row shapes) differ; InternalError if
 * dtypes differ; ValueError if sparse values without a dense shape are mixed with dense ones. Each
 * error reports the position of the first value that differs.
 */
export function requireLikeValues(values: readonly Value[], operation = 'reduce'): void {
  if (values.every((value) => 'data' in value)) {
    requireAlike(values as readonly Tensor[], operation);
    return;
  }
  const sparse = values.filter((value) => !('data' in value)) as readonly IndexedSlices[];
  if (sparse.length === values.length) requireLikeRows(sparse.map(rowKindOf), operation);
  else requireAlike(values.map(asDense), operation);
}

/**
 * A tensor with the dense shape and the dtype of a value, to compare sparse with dense values;
 * sparse data is not converted.
 */
function asDense(value: Value, rank: number): Tensor {
  return 'data' in value ? value : { ...value.values, shape: denseShapeOf(value, rank) };
}

export function rowKindOf({ values }: IndexedSlices): RowKind {
  return { dtype: values.dtype, shape: values.shape.slice(1) };
}

/** @throws InvalidArgumentError if row shapes differ, InternalError if dtypes differ */
export function requireLikeRows(kinds: readonly RowKind[], operation = 'reduce'): void {
  const [first] = kinds as readonly [RowKind];
  const odd = kinds.findIndex(({ shape }) => !sameShape(shape, first.shape));
  if (odd >= 0) {
    throw rankError(
      InvalidArgumentError,
      'ERR_COLL_SHAPE_MISMATCH',
      [
        `${operation}: replica `,
        0,
        ` has rows of shape [${first.shape}], replica `,
        odd,
        ` has [${kinds[odd]?.shape}]; all must have the same shape`,
      ],
      { operation, rank: odd },
    );
  }
  requireAlike(kinds as readonly Tensor[], operation);
}
