import { type CollectiveOp, outputDType } from './collective.js';
import type { DType } from './dtype.js';
import { ValueError } from './errors.js';
import { overlaps, sameShape, type Tensor, zeros } from './tensor.js';

/**
 * Where the results for some values go: the given tensors, or new ones. `op` is undefined where values are only moved.
 * @throws ValueError for a result of another number, dtype or shape, or on memory of another result or value
 */
export function resultsFor(
  op: CollectiveOp | undefined,
  values: readonly Tensor[],
  into: readonly Tensor[] | undefined,
): Tensor[] {
  const dtypes = values.map(({ dtype }) => (op === undefined ? dtype : outputDType({ kind: 'all-reduce', op }, dtype)));
  if (!into) return values.map(({ shape, device }, index) => zeros(dtypes[index] as DType, shape, device));
  if (into.length !== values.length) {
    throw new ValueError('ERR_COLL_BUFFER', `into: ${into.length} results were given for ${values.length} values`);
  }
  values.forEach(({ shape }, index) => {
    const target = into[index] as Tensor;
    if (target.dtype === dtypes[index] && sameShape(target.shape, shape)) return;
    const told = `must be ${dtypes[index]} of shape [${shape}], not ${target.dtype} of shape [${target.shape}]`;
    throw new ValueError('ERR_COLL_BUFFER', `into: result ${index} ${told}`);
  });
  refuseOverlaps(into);
  refuseOverwriting(values, into);
  return [...into];
}

// Results of a pack are written while values of the next one are still to be read.
function refuseOverwriting(values: readonly Tensor[], results: readonly Tensor[]): void {
  const isInPlace = ({ data }: Tensor, index: number) => {
    const target = (results[index] as Tensor).data;
    return data.buffer === target.buffer && data.byteOffset === target.byteOffset;
  };
  const elsewhere = values.filter((value, index) => !isInPlace(value, index));
  if (!elsewhere.some(({ data }) => results.some((result) => overlaps(data, result.data)))) return;
  throw new ValueError(
    'ERR_COLL_BUFFER',
    'into: a result overlaps a value other than its own; give it memory of its own',
  );
}

function refuseOverlaps(results: readonly Tensor[]): void {
  const byBuffer = new Map<ArrayBufferLike, Tensor[]>();
  // Those without elements share nothing, and would stand between neighbours that do.
  for (const result of results.filter(({ data }) => data.length > 0)) {
    const sharing = byBuffer.get(result.data.buffer) ?? [];
    sharing.push(result);
    byBuffer.set(result.data.buffer, sharing);
  }
  for (const sharing of byBuffer.values()) {
    const sorted = sharing.sort((a, b) => a.data.byteOffset - b.data.byteOffset);
    const clash = sorted.some(
      (result, index) => index > 0 && overlaps(result.data, (sorted[index - 1] as Tensor).data),
    );
    if (clash) {
      throw new ValueError('ERR_COLL_BUFFER', 'into: one buffer was given twice; every result needs memory of its own');
    }
  }
}
