import {
  asTensor,
  flatten,
  IndexedSlices,
  outputDType,
  type ReduceOp,
  type Structure,
  type Tensor,
  type TensorLike,
  type TypedArray,
  type Value,
  ValueError,
} from '@coll/core';

/**
 * Where dense results go: the tensors of `into`, one a dense value.
 * @throws ValueError where they are not as many, of other shapes, of other dtypes than the results, or share memory
 */
export function resultMemory(
  into: Structure<TensorLike> | undefined,
  values: readonly Value[],
  op?: ReduceOp,
): readonly Tensor[] | undefined {
  if (into === undefined) return undefined;
  const targets = flatten(into).map((leaf) => asTensor(leaf, 'into'));
  const dense = values.filter((value) => !(value instanceof IndexedSlices)) as Tensor[];
  if (targets.length !== dense.length) throw badInto(`${targets.length} results for ${dense.length} values`);
  dense.forEach(({ dtype, shape }, index) => {
    const target = targets[index] as Tensor;
    const wanted = op ? outputDType({ kind: 'all-reduce', op: op.toLowerCase() as Lowercase<ReduceOp> }, dtype) : dtype;
    if (target.dtype !== wanted || `${target.shape}` !== `${shape}`)
      throw badInto(`result ${index} must be ${wanted} of shape [${shape}]`);
  });
  const isTwice = targets.some(({ data }, index) => targets.slice(0, index).some((other) => overlap(data, other.data)));
  if (isTwice) throw badInto('one buffer was given twice; every result needs memory of its own');
  return targets;
}

/** The results, the dense ones moved to the memory that was named for them. */
export function writtenTo(memory: readonly Tensor[] | undefined, results: readonly Value[]): readonly Value[] {
  if (!memory) return results;
  let next = 0;
  return results.map((result) => {
    if (result instanceof IndexedSlices) return result;
    const target = memory[next++] as Tensor;
    (target.data as Float32Array).set(result.data as Float32Array);
    return target;
  });
}

function overlap(a: TypedArray, b: TypedArray): boolean {
  if (a.buffer !== b.buffer) return false;
  return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
}

function badInto(told: string): ValueError {
  return new ValueError('ERR_COLL_BUFFER', `into: ${told}`);
}
