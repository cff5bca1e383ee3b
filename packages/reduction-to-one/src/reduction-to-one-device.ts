import {
  AllReduceOps,
  asTensor,
  CrossDeviceOps,
  canonicalize,
  type Destinations,
  type DistributedValues,
  divideByN,
  type Explanation,
  getDevicesFrom,
  IndexedSlices,
  type PossiblyMirrored,
  type ReadyPair,
  ReduceOp,
  type ResolvedOptions,
  type Tensor,
  type Value,
  ValueError,
  type World,
} from '@coll/core';
import {
  combineHere,
  combineMixed,
  combineOnDevices,
  type DenseBatch,
  isDirect,
  knownOptions,
  optionsOf,
  refusedSparse,
  toAccumulator,
  type ValueLists,
  type Work,
  workDone,
} from '@coll/core/internal';
import { combine, concatenateSlices, copyToDevice, divide, isFloating, logFirst, mirror } from '@coll/core/plugin';
import { reductionToOneAlgorithm } from './reduction-to-one-algorithm.js';

// Total bytes of all replicas from which the engine is used. For fewer bytes, preparing a call of
// an engine takes longer than combining them in JavaScript.
const leastEngineBytes = 2 ** 18;

/** The device that combines values, and the function that sums them. */
export interface ReductionToOneOptions {
  /** The device that combines values. Default: the first destination. */
  readonly reduceToDevice?: string | undefined;
  /**
   * Sums the components, given in replica order, for sums and means. For a mean of integers, the
   * components are floats of the dtype of the mean. Default: `addN`. Not called for sparse values.
   */
  readonly accumulationFn?: ((tensors: readonly Tensor[]) => Tensor) | undefined;
}

const reductionToOneOptions = knownOptions<ReductionToOneOptions>('ReductionToOneDevice', {
  reduceToDevice: true,
  accumulationFn: true,
});

/**
 * Copies all components to one device, combines them there in replica order, and copies the result
 * to the destinations. Results are bitwise equal for any packing and batching.
 *
 * @example
 * ```ts
 * import { PerReplica, tensor } from '@coll/core';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 *
 * const gradient = new PerReplica([
 *   tensor(new Float32Array([1, 2]), { device: 'cpu:0' }),
 *   tensor(new Float32Array([3, 4]), { device: 'cpu:1' }),
 * ]);
 * await using ops = new ReductionToOneDevice();
 * const sum = await ops.reduce('SUM', gradient, 'cpu:0');
 * console.log('values' in sum ? sum.values[0]?.data : sum.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export class ReductionToOneDevice extends CrossDeviceOps {
  readonly name = 'reduction-to-one';
  readonly #reduceToDevice: string | undefined;
  readonly #accumulationFn: ((tensors: readonly Tensor[]) => Tensor) | undefined;
  /** Combines large values of replicas that share a thread, and all values of several workers. */
  readonly #byEngine: EngineReduce | undefined;
  /** Whether values have components on other workers. */
  readonly #hasOthers: boolean;

  /**
   * @throws ValueError unless `options` is an object, `reduceToDevice` a device and
   * `accumulationFn` a function, and for an `accumulationFn` if `world` has ranks elsewhere
   */
  constructor(options?: ReductionToOneOptions, world?: World) {
    const { reduceToDevice, accumulationFn } = optionsOf(
      options,
      "new ReductionToOneDevice({ reduceToDevice: 'cpu:0' })",
      reductionToOneOptions,
    );
    super(world, { algorithm: reductionToOneAlgorithm() });
    if (accumulationFn !== undefined && typeof accumulationFn !== 'function') {
      throw new ValueError(
        'ERR_COLL_VALUE',
        'accumulationFn must be a function of a list of tensors that returns one tensor',
      );
    }
    this.#reduceToDevice = reduceToDevice === undefined ? undefined : canonicalize(reduceToDevice);
    this.#accumulationFn = accumulationFn;
    if (accumulationFn && world && world.localRanks.length < world.devices.length) {
      const message = 'accumulationFn needs the components of all replicas in one thread, but others are elsewhere';
      throw new ValueError('ERR_COLL_REFUSED', `${message}: omit it, or use ops whose all-reduce is an algorithm`);
    }
    const isOfSeveral = world !== undefined && world.localRanks.length > 1 && !accumulationFn;
    this.#hasOthers = isOfSeveral && world.localRanks.length < world.devices.length;
    if (isOfSeveral && (this.#hasOthers || world.engine !== 'js')) this.#byEngine = new EngineReduce(world);
  }

  override explain(): Explanation {
    const own = super.explain();
    return this.#byEngine ? { ...own, engine: this.#byEngine.explain().engine } : own;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#byEngine?.close();
  }

  protected override denseWork(batch: DenseBatch, call: ResolvedOptions): Work<ValueLists> | undefined {
    if (this.#accumulationFn || !isDirect(batch)) return undefined;
    if (this.#byEngine && (this.#hasOthers || bytesOf(batch) >= leastEngineBytes))
      return this.#byEngine.perform(batch, call);
    const results = combineHere(batch, call.sharedResult);
    this.#tell(results.length, () => results.map(([value]) => value?.device ?? ''));
    return workDone(results);
  }

  protected async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (this.#isPlain(op, value))
      return this.#reduceHere(op, value, getDevicesFrom(destinations), call, call.targets?.[0]);
    const devices = getDevicesFrom(destinations);
    const target = this.#reduceToDevice ?? (devices[0] as string);
    this.#tell(value.values.length, () => devices);
    const combined = this.#combined(op, value.values);
    // The result of an accumulationFn, or a single value, may be memory of the caller, so it is
    // copied before destinations share it.
    const isNew = value.values.length > 1 && !this.#accumulationFn;
    const isShareable = isNew || !call.sharedResult;
    return this.placeResult(isShareable ? combined : copyToDevice(combined, target), destinations, call);
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    // A subclass may reduce each value in another way.
    const isOwn = this.reduceImplementation === ReductionToOneDevice.prototype.reduceImplementation;
    if (!isOwn || !pairs.every(([value]) => this.#isPlain(op, value)))
      return super.batchReduceImplementation(op, pairs, call);
    let before: Destinations | undefined;
    let devices: readonly string[] = [];
    return pairs.map(([value, destinations], index) => {
      if (destinations !== before) devices = getDevicesFrom(destinations);
      before = destinations;
      return this.#reduceHere(op, value as DistributedValues<Tensor>, devices, call, call.targets?.[index]);
    });
  }

  /** Whether a value can be combined straight into the memory of its results. */
  #isPlain(op: ReduceOp, value: DistributedValues<Value>): value is DistributedValues<Tensor> {
    const { values } = value;
    if (values.length < 2 || this.#accumulationFn) return false;
    return values.every((item) => 'data' in item && !item.memory && !(op === ReduceOp.MEAN && item.dtype === 'bool'));
  }

  #reduceHere(
    op: ReduceOp,
    { values }: DistributedValues<Tensor>,
    devices: readonly string[],
    { sharedResult = false }: ResolvedOptions,
    targets: readonly Tensor[] = [],
  ): PossiblyMirrored {
    this.#tell(values.length, () => devices);
    // The sum of the first two tensors must not overwrite the others.
    const isApart = ([first]: readonly Tensor[]) =>
      values.every(({ data }, index) => index < 2 || data.buffer !== first?.data.buffer);
    const isUsable = !targets.some(({ memory }) => memory) && isApart(targets);
    return mirror(combineOnDevices(op, values, devices, isUsable ? targets : [], sharedResult));
  }

  #tell(components: number, devicesOf: () => readonly string[]): void {
    logFirst(10, 'reduction-to-one', 'info', () => {
      const devices = devicesOf();
      const target = this.#reduceToDevice ?? devices[0];
      return `reduce ${components} components to ${target}, then broadcast to ${devices.join(', ')}`;
    });
  }

  #combined(op: ReduceOp, values: readonly Value[]): Value {
    const sparse = values.filter((value) => value instanceof IndexedSlices);
    if (sparse.length === 0) return this.#combinedDense(op, values as readonly Tensor[]);
    const isMean = op === ReduceOp.MEAN;
    const refused = refusedSparse(op);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `reduce: ${refused}`, { operation: 'reduce' });
    if (sparse.length < values.length) return combineMixed(isMean ? 'mean' : 'sum', values);
    const joined = sparse.length === 1 ? (sparse[0] as IndexedSlices) : concatenateSlices(sparse);
    return isMean ? divideByN(joined, values.length) : joined;
  }

  #combinedDense(op: ReduceOp, tensors: readonly Tensor[]): Tensor {
    const isSum = op === ReduceOp.SUM || op === ReduceOp.MEAN;
    if (!isSum || !this.#accumulationFn) return combine(op.toLowerCase() as Lowercase<ReduceOp>, tensors);
    const isMean = op === ReduceOp.MEAN;
    const addends = isMean && isInteger(tensors) ? tensors.map((value) => toAccumulator(value, 'mean')) : tensors;
    const sum = asTensor(this.#accumulationFn(addends), 'what accumulationFn returned');
    return isMean ? divide(sum, tensors.length) : sum;
  }
}

function isInteger([first]: readonly Tensor[]): boolean {
  return first !== undefined && !isFloating(first.dtype) && first.dtype !== 'bool';
}

/** Combines in the same order as `ReductionToOneDevice`, but with the engine of the world. */
class EngineReduce extends AllReduceOps {
  readonly name = 'reduction-to-one';

  constructor(world: World) {
    super({ algorithm: reductionToOneAlgorithm(), fallback: new ReductionToOneDevice(), world });
  }
}

/** Total bytes of the values of all replicas in a batch. */
function bytesOf({ inputs }: DenseBatch): number {
  const [values = []] = inputs;
  return inputs.length * values.reduce((sum, { data }) => sum + data.byteLength, 0);
}
