import type { CollectiveOp } from '../collectives/collective.js';
import { ValueError } from '../support/errors.js';
import { allocateUnset, type DType, quotientOf, type TypedArray } from '../values/dtype.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { copyElements, elementCount, overlaps, sameShape, type Tensor } from '../values/tensor.js';

/**
 * The tensors that receive the results of reducing `values`: the tensors `into`, or new ones if
 * `into` is undefined. `op` is undefined if values are only moved.
 * @throws ValueError if `into` has the wrong number of tensors, or one of the wrong dtype or shape,
 * or one that overlaps another result or a value, except that a result may have exactly the memory
 * of its own value
 */
export function resultsFor(
  op: CollectiveOp | undefined,
  values: readonly Tensor[],
  into: readonly Tensor[] | undefined,
): readonly Tensor[] {
  if (!into) return newResults(op, values);
  if (into.length !== values.length) {
    throw new ValueError(
      'ERR_COLL_BUFFER',
      `into: must have one result per value, got ${into.length} results for ${values.length} values`,
    );
  }
  for (let index = 0; index < values.length; index++) {
    const value = values[index] as Tensor;
    const target = into[index] as Tensor;
    const dtype = resultDType(op, value);
    if (target.dtype === dtype && sameShape(target.shape, value.shape)) continue;
    const message = `must be ${dtype} of shape [${value.shape}], got ${target.dtype} of shape [${target.shape}]`;
    throw new ValueError('ERR_COLL_BUFFER', `into: result ${index} ${message}`);
  }
  const views = into.length === 1 ? undefined : viewsOf(into);
  for (let index = 0; index < values.length; index++)
    refuseOverwriting(values[index] as Tensor, into[index] as Tensor, views);
  return into;
}

function newResults(op: CollectiveOp | undefined, values: readonly Tensor[]): readonly Tensor[] {
  const results: Tensor[] = [];
  for (const value of values) results.push(newResult(resultDType(op, value), elementCount(value.shape), value));
  return results;
}

function resultDType(op: CollectiveOp | undefined, { dtype }: Tensor): DType {
  return op === 'mean' ? quotientOf(dtype) : dtype;
}

/** @throws ValueError unless `into` holds `count` results that do not overlap */
export function requireOneEach(into: readonly Tensor[], count: number): void {
  if (into.length !== count) {
    throw new ValueError(
      'ERR_COLL_BUFFER',
      `into: must have one result per value, got ${into.length} results for ${count} values`,
    );
  }
  viewsOf(into);
}

/**
 * Memory with undefined contents. The collective overwrites all of it, and the caller does not get
 * it if the collective fails.
 */
function newResult(dtype: DType, length: number, { shape, device }: Pick<Tensor, 'shape' | 'device'>): Tensor {
  return { data: allocateUnset(dtype, length), dtype, shape, device };
}

/**
 * The results, with dense results copied into the tensors of `memory`, in order, unless the
 * collective has written them there. `memory` has no
 * tensor for a sparse value, even if the result is dense because the values of other replicas are
 * dense.
 */
export function writtenTo(
  memory: readonly Tensor[] | undefined,
  results: readonly Value[],
  values: readonly Value[],
): readonly Value[] {
  if (!memory || results === memory) return results;
  let next = 0;
  return results.map((result, index) => {
    if (values[index] instanceof IndexedSlices || result instanceof IndexedSlices) return result;
    const target = memory[next++] as Tensor;
    return filled(target, result);
  });
}

/**
 * Copies the elements of `from` into `target` and returns `target`. Both may be in device memory.
 */
export function filled(target: Tensor, from: Tensor): Tensor {
  if (target.memory) {
    if (target.memory !== from.memory) target.memory.set(from);
  } else if (target.data !== from.data) copyElements(target.data, from.data);
  return target;
}

/** The non-empty arrays in each buffer: a single one, or several sorted by offset. */
type MemoryViews = ReadonlyMap<ArrayBufferLike, TypedArray | readonly TypedArray[]>;

function isList(sharing: TypedArray | readonly TypedArray[]): sharing is readonly TypedArray[] {
  return Array.isArray(sharing);
}

/** @throws ValueError if two results overlap */
function viewsOf(results: readonly Tensor[]): MemoryViews {
  const views = new Map<ArrayBufferLike, TypedArray | TypedArray[]>();
  const shared: TypedArray[][] = [];
  for (const result of results) {
    // Device memory is checked by the package that allocated it; reading its elements throws.
    if (result.memory || result.data.length === 0) continue;
    const { data } = result;
    const { buffer } = data;
    const sharing = views.get(buffer);
    if (!sharing) views.set(buffer, data);
    else if (Array.isArray(sharing)) sharing.push(data);
    else {
      const list = [sharing, data];
      views.set(buffer, list);
      shared.push(list);
    }
  }
  for (const list of shared) refuseOverlaps(list.sort((a, b) => a.byteOffset - b.byteOffset));
  return views;
}

function refuseOverlaps(sorted: readonly TypedArray[]): void {
  const clash = sorted.some((data, index) => index > 0 && overlaps(data, sorted[index - 1] as TypedArray));
  if (!clash) return;
  throw new ValueError(
    'ERR_COLL_BUFFER',
    'into: the same buffer is passed twice; every result needs memory of its own',
  );
}

// Results of one pack are written before the values of the next pack are read. Without `views`,
// there is a single result.
function refuseOverwriting(value: Tensor, result: Tensor, views: MemoryViews | undefined): void {
  if (value === result || value.memory || result.memory) return;
  const { data } = value;
  const own = result.data;
  if (data === own || (data.buffer === own.buffer && data.byteOffset === own.byteOffset)) return;
  const sharing = views ? views.get(data.buffer) : own;
  if (!sharing) return;
  const nearest = isList(sharing) ? lastBefore(sharing, data.byteOffset + data.byteLength) : sharing;
  if (!overlaps(data, nearest)) return;
  throw new ValueError(
    'ERR_COLL_BUFFER',
    'into: a result overlaps the memory of another value; give it memory of its own',
  );
}

/**
 * The last of sorted, disjoint arrays that begins before `end`, or else the first. Only this array
 * can overlap the range.
 */
function lastBefore(sorted: readonly TypedArray[], end: number): TypedArray {
  let [low, high] = [0, sorted.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((sorted[middle] as TypedArray).byteOffset < end) low = middle;
    else high = middle - 1;
  }
  return sorted[low] as TypedArray;
}
