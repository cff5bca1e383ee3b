import {
  addN,
  aggregateTensorsOrIndexedSlices,
  asTensor,
  CrossDeviceOps,
  canonicalize,
  combine,
  copyToDevice,
  type Destinations,
  type DistributedValues,
  divideByN,
  getDevicesFrom,
  IndexedSlices,
  logFirst,
  type PossiblyMirrored,
  ReduceOp,
  type ResolvedOptions,
  type Tensor,
  type Value,
  ValueError,
  type World,
} from '@coll/core';
import { reductionToOneAlgorithm } from './reduction-to-one-algorithm.js';

export interface ReductionToOneOptions {
  /** Where values are combined. Default: the first destination. */
  readonly reduceToDevice?: string | undefined;
  /** Makes one tensor of the components, in replica order, for sums and means; `addN` by default. Not called for sparse values. */
  readonly accumulationFn?: ((tensors: readonly Tensor[]) => Tensor) | undefined;
}

/**
 * Copies all components to one device, combines them there in replica order, and copies the result to the destinations. The bits of
 * a result do not depend on packing or batching.
 */
export class ReductionToOneDevice extends CrossDeviceOps {
  readonly name = 'reduction-to-one';
  readonly #reduceToDevice: string | undefined;
  readonly #accumulationFn: ((tensors: readonly Tensor[]) => Tensor) | undefined;

  /** @throws ValueError for a `reduceToDevice` that is no device, or an `accumulationFn` that is no function */
  constructor({ reduceToDevice, accumulationFn }: ReductionToOneOptions = {}, world?: World) {
    super(world, reductionToOneAlgorithm());
    if (accumulationFn !== undefined && typeof accumulationFn !== 'function') {
      throw new ValueError(
        'ERR_COLL_VALUE',
        'accumulationFn must be a function of a list of tensors that returns one tensor',
      );
    }
    this.#reduceToDevice = reduceToDevice === undefined ? undefined : canonicalize(reduceToDevice);
    this.#accumulationFn = accumulationFn;
  }

  protected async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    const devices = getDevicesFrom(destinations);
    const target = this.#reduceToDevice ?? (devices[0] as string);
    logFirst(
      10,
      'reduction-to-one',
      'info',
      `reduce ${value.values.length} components to ${target}, then broadcast to ${devices.join(', ')}`,
    );
    const combined = this.#combined(op, value.values);
    // An accumulationFn may return what it was handed, which is not ours to share.
    return this.placeResult(call.sharedResult ? copyToDevice(combined, target) : combined, destinations, call);
  }

  #combined(op: ReduceOp, values: readonly Value[]): Value {
    const isSparse = values.some((value) => value instanceof IndexedSlices);
    const isSum = op === ReduceOp.SUM || op === ReduceOp.MEAN;
    if (!isSparse && (!isSum || !this.#accumulationFn))
      return combine(op.toLowerCase() as Lowercase<ReduceOp>, values as readonly Tensor[]);
    if (!isSum)
      throw new ValueError(
        'ERR_COLL_REFUSED',
        `reduce: indexed slices have a sum and a mean, but no ${op}; make them dense first`,
        { operation: 'reduce' },
      );
    const accumulate = this.#accumulationFn ?? addN;
    const sum = aggregateTensorsOrIndexedSlices(values, (tensors) =>
      asTensor(accumulate(tensors), 'what accumulationFn returned'),
    ) as Value;
    return op === ReduceOp.MEAN ? divideByN(sum, values.length) : sum;
  }
}
