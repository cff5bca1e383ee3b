import type { CallerRequest } from '../collectives/caller-request.js';
import { type CollectiveOp, collectiveOps } from '../collectives/collective.js';
import { rankError } from '../collectives/failures.js';
import { convertNumbers, divide, requireMean } from '../kernels/arithmetic.js';
import type { Phases } from '../runtime/drive.js';
import { deduplicate, deduplicatedMean } from '../sparse/deduplicate.js';
import { requireLikeRows } from '../sparse/like-values.js';
import { InternalError } from '../support/errors.js';
import { type DType, dtypes } from '../values/dtype.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { reshape, type Tensor } from '../values/tensor.js';
import { type Composition, collect, exchange, type Member, memoryFor, type PartOfCall } from './replica-gathers.js';

export interface SparseRequest extends Composition {
  readonly op: CollectiveOp;
  readonly sparse: readonly IndexedSlices[];
  /** Whether results have each index only once, with the sum of its rows. */
  readonly deduplicate: boolean;
  /** Number of the caller's per-replica values that each value already combines. */
  readonly valuesEach: number;
}

/**
 * The announcements of all ranks about a call's sparse values, after a check that they are
 * consistent.
 */
interface Agreement extends SparseRequest {
  /** The kind of each sparse value, by rank, then by value. */
  readonly kinds: readonly (readonly SliceKind[])[];
}

interface SliceKind {
  readonly rows: number;
  readonly dtype: DType;
  readonly indexDType: DType;
  /** Shape of a row. */
  readonly shape: readonly number[];
  /** First dimension of the dense shape; -1 if it is unknown. */
  readonly denseRows: number;
}

// Numbers that a rank announces about its call, and about each value in addition to its row shape.
const callFields = 3;
const valueFields = 4;

/**
 * Announces each rank's sparse values to all ranks in one exchange, so that mismatches are found
 * before any value is sent.
 * @throws the same error on all ranks: InvalidArgumentError for rows of different shapes,
 * InternalError for different dtypes, ops or options, ValueError for the mean of bool
 */
export function* agreeOnSlices(member: Member, request: SparseRequest): Phases<Agreement> {
  const { op, sparse, deduplicate, valuesEach } = request;
  const numbers = [collectiveOps.indexOf(op), Number(deduplicate), valuesEach, ...sparse.flatMap(announcementOf)];
  const announced = yield* exchange(member, numbers, partOf(request));
  requireSameCall(announced);
  const kinds = announced.map((numbers) => kindsOf(numbers.slice(callFields), sparse));
  for (const index of sparse.keys()) {
    const alike = kinds.map((ofRank) => ofRank[index] as SliceKind);
    requireLikeRows(alike, 'all-reduce');
    if (op === 'mean') requireMean((alike[0] as SliceKind).dtype);
  }
  return { ...request, kinds };
}

/**
 * Sums or averages sparse values over all ranks. Concatenates the rows of all ranks in rank order,
 * adds rows of equal indices if `deduplicate` is set, and divides for a mean.
 */
export function* gatherSlices(member: Member, agreed: Agreement): Phases<IndexedSlices[]> {
  const { op, sparse, deduplicate, valuesEach, kinds } = agreed;
  const [first] = kinds as readonly [readonly SliceKind[]];
  const own = sparse.flatMap(({ values, indices }, index) => {
    const isAlike = kinds.every((ofRank) => ofRank[index]?.indexDType === first[index]?.indexDType);
    return [values, isAlike ? indices : convertNumbers(indices, 'int64')];
  });
  const shapes = kinds.map((ofRank) => ofRank.flatMap(({ rows, shape }) => [[rows, ...shape], [rows]]));
  const memory = memoryFor(own, shapes);
  yield* collect(member, own, memory, partOf(agreed));
  return first.map(({ shape, denseRows }, index) => {
    const [values, indices] = [memory.joined[2 * index], memory.joined[2 * index + 1]] as [Tensor, Tensor];
    const rows = reshape(values, [indices.data.length, ...shape]);
    const sum = new IndexedSlices(rows, indices, denseRows < 0 ? undefined : [denseRows, ...shape]);
    return finished(sum, op, deduplicate, member.size * valuesEach);
  });
}

/** The composition and the request of the call. All ranks compare both before they exchange announcements. */
function partOf({ sparse, layout, valueCount }: SparseRequest): PartOfCall {
  const request: CallerRequest = {
    collective: { kind: 'all-reduce', op: 'sum' },
    dtype: 'float64',
    length: sparse.length,
    purpose: 'sparse',
  };
  return { layout, valueCount, request };
}

function finished(sum: IndexedSlices, op: CollectiveOp, isUnique: boolean, size: number): IndexedSlices {
  if (isUnique) return op === 'mean' ? deduplicatedMean(sum, size) : deduplicate(sum);
  return op === 'mean' ? new IndexedSlices(divide(sum.values, size), sum.indices, sum.denseShape) : sum;
}

function announcementOf({ values, indices, denseShape }: IndexedSlices): number[] {
  const [rows, ...shape] = values.shape as [number, ...number[]];
  return [
    rows,
    dtypes.indexOf(values.dtype),
    dtypes.indexOf(indices.dtype),
    denseShape ? (denseShape[0] as number) : -1,
    ...shape,
  ];
}

/**
 * Decodes the numbers in which a rank announces its sparse values; the inverse of `toldOf`. Equal
 * layouts guarantee that each value has the same number of dimensions on all ranks.
 */
function kindsOf(numbers: readonly number[], sparse: readonly IndexedSlices[]): readonly SliceKind[] {
  let end = 0;
  return sparse.map(({ values }) => {
    const begin = end;
    end += valueFields + values.shape.length - 1;
    const [rows, dtype, indexDType, denseRows, ...shape] = numbers.slice(begin, end) as [
      number,
      number,
      number,
      number,
    ];
    return { rows, dtype: dtypes[dtype] as DType, indexDType: dtypes[indexDType] as DType, denseRows, shape };
  });
}

function requireSameCall(announced: readonly (readonly number[])[]): void {
  const [first] = announced as readonly [readonly number[]];
  const odd = announced.findIndex((numbers) => numbers.slice(0, callFields).some((number, at) => number !== first[at]));
  if (odd < 0) return;
  const isOneEach = announced.every(([, , each]) => each === 1);
  const callOf = ([op, unique, each]: readonly number[]) =>
    `${collectiveOps[op as number]}, ${unique ? 'with' : 'without'} deduplicate${isOneEach ? '' : `, of ${each} values`}`;
  throw rankError(
    InternalError,
    'ERR_COLL_MISMATCH',
    [
      'all-reduce: replica ',
      0,
      ` calls ${callOf(first)}, replica `,
      odd,
      ` calls ${callOf(announced[odd] as readonly number[])}; all replicas must make the same call`,
    ],
    { operation: 'all-reduce', rank: odd },
  );
}
