// The module of every replica. Its variables keep their values between runs.
import { type Tensor, tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';

interface Batch {
  readonly xs: Tensor<'float32'>;
  readonly ys: Tensor<'float32'>;
}

const rate = 0.5;
let [slope, offset] = [0, 0];

/** One step on this replica's part of a batch; returns the sum of the squared errors before the step. */
export async function replica(context: ReplicaContext, { xs, ys }: Batch): Promise<Tensor<'float32'>> {
  const errors = xs.data.map((x, index) => slope * x + offset - (ys.data[index] as number));
  const sum = (values: Float32Array) => values.reduce((total, value) => total + value, 0);
  // Sums, and not means, because the parts of the replicas may have different sizes.
  const gradient = Float32Array.of(sum(errors.map((error, index) => error * (xs.data[index] as number))), sum(errors));
  const [forSlope, forOffset, count] = context.allReduceSync('sum', Float32Array.of(...gradient, errors.length)).data;
  slope -= (rate * (forSlope as number)) / (count as number);
  offset -= (rate * (forOffset as number)) / (count as number);
  return tensor(Float32Array.of(sum(errors.map((error) => error * error))));
}

export function weights(): readonly [slope: number, offset: number] {
  return [slope, offset];
}
