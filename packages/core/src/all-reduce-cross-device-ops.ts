import type { ResolvedOptions } from './call-options.js';
import { type Collective, outputDType } from './collective.js';
import type { Communicator } from './communicator.js';
import { CrossDeviceOps, collectiveOp, type PossiblyMirrored, type ReadyPair } from './cross-device-ops.js';
import { allDevicesMatch, type Destinations, devicesMatch } from './destinations.js';
import { sameDevice } from './device.js';
import type { DistributedValues } from './distributed-values.js';
import type { DType } from './dtype.js';
import { AssertionError, ValueError } from './errors.js';
import { logFirst } from './logger.js';
import { ConcatAndSplitPacker } from './packing/concat-and-split-packer.js';
import { groupBySize } from './packing/group-by-size.js';
import type { Packer } from './packing/packer.js';
import { AggregateSmallTensorPacker } from './packing/small-tensor-packer.js';
import type { World } from './plugin.js';
import { PortableCommunicator } from './portable/portable-communicator.js';
import { quote } from './quote.js';
import type { ReduceOp } from './reduce-op.js';
import { mirror } from './regroup.js';
import type { Algorithm } from './schedule/schedule.js';
import { splitBySparsity, stitchValues, type Value } from './sparse.js';
import { type Tensor, zeros } from './tensor.js';

export interface PackingOptions {
  /** Into how many packs the values of a batch are joined; 0: each value goes by itself. */
  readonly numPacks?: number | undefined;
  /** With `numPacks` 0: neighbours of at most this many bytes are joined. 0: none are. */
  readonly aggSmallGradsMaxBytes?: number | undefined;
  readonly aggSmallGradsMaxGroup?: number | undefined;
}

export interface AllReduceSetup extends PackingOptions {
  readonly algorithm: Algorithm;
  /** Serves what is not an all-reduce: other destinations, sparse values, gathers, and whatever the communicator refuses. */
  readonly fallback: CrossDeviceOps;
  readonly world?: World | undefined;
}

/**
 * Cross-device ops that play an all-reduce algorithm: checks, packs, hands flat buffers to a communicator and takes the results
 * apart. A subclass says which algorithm, and what serves the rest.
 */
export abstract class AllReduceCrossDeviceOps extends CrossDeviceOps {
  readonly #setup: AllReduceSetup;
  readonly #communicators = new Map<number, Communicator>();

  /** @throws ValueError for a negative `numPacks` */
  constructor(setup: AllReduceSetup) {
    super(setup.world, setup.algorithm);
    const { numPacks = 1 } = setup;
    if (!(Number.isInteger(numPacks) && numPacks >= 0)) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `${setup.algorithm.name} all-reduce: numPacks must be 0 or more, not ${quote(numPacks)}`,
      );
    }
    this.#setup = setup;
  }

  override async close(): Promise<void> {
    await super.close();
    await Promise.all([...this.#communicators.values()].map((communicator) => communicator.close()));
    await this.#setup.fallback.close();
  }

  protected async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    if (!devicesMatch(value, destinations)) {
      this.#fallBack('a reduce to other devices than the values are on is not an all-reduce');
      return this.#setup.fallback.reduce(op, value, destinations, callOf(call));
    }
    return (await this.#allReduceValues(op, [value], call))[0] as PossiblyMirrored;
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    if (!allDevicesMatch(pairs)) return super.batchReduceImplementation(op, pairs, call);
    return this.#allReduceValues(
      op,
      pairs.map(([value]) => value),
      call,
    );
  }

  async #allReduceValues(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const { dense, denseIndices, sparse, sparseIndices } = splitBySparsity(values);
    const whole = dense as readonly DistributedValues<Tensor>[];
    requireSameDevices(whole);
    const mixed = whole.some((value) => value.values.some((item) => !('data' in item)));
    const refused = mixed ? 'components are dense and sparse' : this.#refusal(op, whole);
    const reduced = refused
      ? await this.#reduceElsewhere(op, whole, call, refused)
      : await this.#allReduceDense(op, whole, call);
    const gathered =
      sparse.length > 0
        ? await this.#reduceElsewhere(op, sparse, call, 'an all-reduce of indexed slices gathers them')
        : [];
    return stitchValues<PossiblyMirrored>([
      [reduced, denseIndices],
      [gathered, sparseIndices],
    ]);
  }

  #reduceElsewhere(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
    why: string,
  ): Promise<PossiblyMirrored[]> {
    this.#fallBack(why);
    return this.#setup.fallback.batchReduce(
      op,
      values.map((value) => [value, value] as const),
      callOf(call),
    );
  }

  async #allReduceDense(
    op: ReduceOp,
    values: readonly DistributedValues<Tensor>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const results: PossiblyMirrored[] = new Array(values.length);
    for (const pack of this.#groups(values, call.options.bytesPerPack)) {
      const perDevice = (values[0] as DistributedValues<Tensor>).values.map((_, device) =>
        pack.indices.map((index) => values[index]?.values[device] as Tensor),
      );
      const reduced = await this.#allReducePacked(op, perDevice, pack.packer, call);
      pack.indices.forEach((index, position) => {
        const { devices } = values[index] as DistributedValues<Tensor>;
        results[index] = mirror(
          reduced.map((tensors, device) => ({ ...(tensors[position] as Tensor), device: devices[device] as string })),
        );
      });
    }
    return results;
  }

  async #allReducePacked(
    op: ReduceOp,
    perDevice: readonly (readonly Tensor[])[],
    packer: Packer | undefined,
    call: ResolvedOptions,
  ): Promise<readonly (readonly Tensor[])[]> {
    const collective: Collective = { kind: 'all-reduce', op: collectiveOp(op) };
    const communicator = this.#communicator(perDevice.length);
    const packed = packer?.pack(perDevice) ?? perDevice;
    logFirst(
      10,
      `${this.name} all-reduce`,
      'info',
      `batch all-reduce: ${perDevice[0]?.length} values in ${packed[0]?.length} packs over ${perDevice.length} devices with ${this.name}`,
    );
    const outputs = packed.map((tensors) =>
      tensors.map(({ dtype, shape, device }) => zeros(outputDType(collective, dtype), shape, device)),
    );
    const run = { timeoutSeconds: call.options.timeoutSeconds, ...(call.signal ? { signal: call.signal } : {}) };
    for (const index of (packed[0] ?? []).keys()) {
      const at = (lists: readonly (readonly Tensor[])[]) => lists.map((tensors) => tensors[index] as Tensor);
      await communicator.run(collective, at(packed), at(outputs), run);
    }
    return packer?.unpack(outputs) ?? outputs;
  }

  /** Which values share an all-reduce, and how they are joined: always of one dtype, and last ones first by `bytesPerPack`. */
  #groups(
    values: readonly DistributedValues<Tensor>[],
    bytesPerPack: number,
  ): { indices: number[]; packer: Packer | undefined }[] {
    const placed = values.map((value, index) => ({ ...value.primary, index }));
    const dtypes = [...new Set(placed.map(({ dtype }) => dtype))];
    return dtypes.flatMap((dtype) => {
      const alike = placed.filter((value) => value.dtype === dtype);
      if (bytesPerPack > 0) {
        const packs = groupBySize(alike.reverse(), bytesPerPack).map((pack) => pack.map(({ index }) => index));
        return packs.map((indices) => ({
          indices,
          packer: indices.length > 1 ? new ConcatAndSplitPacker(1) : undefined,
        }));
      }
      return [{ indices: alike.map(({ index }) => index), packer: this.#packer(alike.length) }];
    });
  }

  #packer(count: number): Packer | undefined {
    const { numPacks = 1, aggSmallGradsMaxBytes = 0, aggSmallGradsMaxGroup = 10 } = this.#setup;
    if (numPacks > 0) return numPacks === 1 && count === 1 ? undefined : new ConcatAndSplitPacker(numPacks);
    return aggSmallGradsMaxBytes > 0 && aggSmallGradsMaxGroup > 0
      ? new AggregateSmallTensorPacker(aggSmallGradsMaxBytes, aggSmallGradsMaxGroup)
      : undefined;
  }

  #refusal(op: ReduceOp, values: readonly DistributedValues<Tensor>[]): string | undefined {
    const collective: Collective = { kind: 'all-reduce', op: collectiveOp(op) };
    const dtypes = new Set(values.map(({ primary }): DType => primary.dtype));
    const communicator = this.#communicator(values[0]?.values.length ?? 1);
    return [...dtypes].map((dtype) => communicator.refuses(collective, dtype)).find((reason) => reason !== undefined);
  }

  // One communicator a size: values may live on any number of devices.
  #communicator(size: number): Communicator {
    const { world, algorithm } = this.#setup;
    const known = this.#communicators.get(size);
    if (known) return known;
    const fitsWorld = world && world.localRanks.length === size && world.devices.length === size;
    const made = fitsWorld ? world.communicator(algorithm) : new PortableCommunicator({ size, algorithm });
    this.#communicators.set(size, made);
    return made;
  }

  #fallBack(why: string): void {
    const { fallback } = this.#setup;
    const remark = `${why}; ${fallback.name} serves it`;
    if (this.note(remark)) logFirst(10, remark, 'info', `${this.name}: ${remark}`);
  }
}

function callOf({ options, signal }: ResolvedOptions) {
  return { options, signal };
}

/** @throws AssertionError unless all values have the identical ordered devices, as a batched all-reduce needs */
function requireSameDevices(values: readonly DistributedValues<Value>[]): void {
  const [first] = values;
  const odd = values.find(
    ({ devices }) =>
      devices.length !== first?.devices.length ||
      !devices.every((device, index) => sameDevice(device, first.devices[index] as string)),
  );
  if (!first || !odd) return;
  throw new AssertionError(
    'ERR_COLL_DEVICE',
    `a batch needs all values on the same devices in the same order: [${first.devices}] and [${odd.devices}]`,
    {
      operation: 'batch-reduce',
    },
  );
}
