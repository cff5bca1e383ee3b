import { type CollectiveOp, type DType, PerReplica, type ReduceOp, type Tensor } from '@coll/core';
import { byteSize, elementCount, viewOf } from '@coll/core/plugin';
import { contribute, type Flavour } from '../oracle/contributions.js';
import { expectedOutputs } from '../oracle/expected-outputs.js';
import type { Plain } from '../oracle/plain-arithmetic.js';

export interface ValueRequest {
  readonly dtype?: DType;
  readonly shape?: readonly number[];
  readonly op?: ReduceOp;
  /**
   * The kind of numbers in the value. Default: `whole`, because ops may add values in any order.
   */
  readonly flavour?: Flavour;
  /** The seed of the elements: values with different seeds have different elements. Default: 0. */
  readonly seed?: number;
}

/** A value with a component on each device. */
export function valueOn(devices: readonly string[], request: ValueRequest = {}): PerReplica<Tensor> {
  return new PerReplica(devices.map((device, replica) => componentOn(device, replica, request)));
}

/** Returns the component that `valueOn` gives to a replica. */
export function componentOn(device: string, replica: number, request: ValueRequest = {}): Tensor {
  const { dtype = 'float32', shape = [2, 3], op, flavour = 'whole', seed = 0 } = request;
  const length = elementCount(shape);
  const data = viewOf(dtype, new ArrayBuffer(length * byteSize(dtype)), 0, length);
  contribute(data, { flavour, dtype, op: op && collectiveOp(op), rank: replica + 16 * seed });
  return { data, dtype, shape, device };
}

/**
 * Computes the elements that result from combining the components in their order, as stored in the
 * dtype.
 */
export function combinedElements(op: ReduceOp, components: readonly Tensor[]): readonly Plain[] {
  const { dtype } = components[0] as Tensor;
  const inputs = components.map(({ data }) => data);
  const collective = { kind: 'all-reduce', op: collectiveOp(op) } as const;
  return expectedOutputs({ collective, dtype, inputs, schedule: undefined })[0] as readonly Plain[];
}

/**
 * The dtype of a mean by the dtype of its inputs, as documented for users: floats keep their dtype,
 * integers of up to 16 bits give float32, longer integers give float64.
 */
export const meanDTypes: Readonly<Partial<Record<DType, DType>>> = {
  float16: 'float16',
  bfloat16: 'bfloat16',
  float32: 'float32',
  float64: 'float64',
  int8: 'float32',
  int16: 'float32',
  int32: 'float64',
  int64: 'float64',
  uint8: 'float32',
  uint16: 'float32',
  uint32: 'float64',
  uint64: 'float64',
};

function collectiveOp(op: ReduceOp): CollectiveOp {
  return op.toLowerCase() as CollectiveOp;
}
