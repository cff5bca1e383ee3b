import type { CallOptions, ResolvedOptions } from './call-options.js';
import { type Collective, outputDType } from './collective.js';
import type { Communicator, RunOptions } from './communicator.js';
import { CrossDeviceOps, collectiveOp, type Explanation, type PossiblyMirrored } from './cross-device-ops.js';
import { allDevicesMatch, type Destinations, devicesMatch } from './destinations.js';
import { sameDevice } from './device.js';
import type { DistributedValues } from './distributed-values.js';
import type { DType } from './dtype.js';
import type { EngineRequest } from './engine.js';
import { type EngineResolution, requireEngineRequest, resolveEngine } from './engines.js';
import { AssertionError, ValueError } from './errors.js';
import { logFirst } from './logger.js';
import { batchPacks, type PackingOptions } from './packing/batch-packs.js';
import { ConcatAndSplitPacker } from './packing/concat-and-split-packer.js';
import { splitLike } from './packing/concatenate.js';
import type { Packer } from './packing/packer.js';
import type { World } from './plugin.js';
import { quote } from './quote.js';
import type { ReduceOp } from './reduce-op.js';
import type { ReadyPair } from './reducible.js';
import { mirror } from './regroup.js';
import type { Algorithm } from './schedule/schedule.js';
import { splitBySparsity, stitchValues, type Value } from './sparse.js';
import { type Tensor, zeros } from './tensor.js';

export interface AllReduceOptions extends PackingOptions {
  /** What does the arithmetic, where no world says it. Default: `'auto'`, the fastest that works here. */
  readonly engine?: EngineRequest | undefined;
}

export interface AllReduceSetup extends AllReduceOptions {
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
  readonly #resolution: EngineResolution;
  readonly #communicators = new Map<number, Communicator>();

  /** @throws ValueError for a negative `numPacks`, or an engine that is not the world's; CollError for one that does not work here */
  constructor(setup: AllReduceSetup) {
    super(setup.world, setup.algorithm);
    const { numPacks = 1, engine = 'auto', world } = setup;
    requireEngineOf(world, engine);
    this.#resolution = world?.resolution ?? resolveEngine(engine);
    if (!(Number.isInteger(numPacks) && numPacks >= 0)) {
      throw new ValueError(
        'ERR_COLL_VALUE',
        `${setup.algorithm.name} all-reduce: numPacks must be 0 or more, not ${quote(numPacks)}`,
      );
    }
    this.#setup = setup;
  }

  override explain(): Explanation {
    const { engine, candidates } = this.#resolution;
    return { ...super.explain(), engine: this.#setup.world?.engine ?? engine.name, engines: candidates };
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
    const gathered = sparse.length > 0 ? await this.#reduceSparse(op, sparse, call) : [];
    return stitchValues<PossiblyMirrored>([
      [reduced, denseIndices],
      [gathered, sparseIndices],
    ]);
  }

  #reduceSparse(
    op: ReduceOp,
    values: readonly DistributedValues<Value>[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const topic = `${this.name} sparse all-reduce`;
    logFirst(10, topic, 'warn', `${this.name}: there is no efficient all-reduce of ${values.length} indexed slices`);
    return this.#reduceElsewhere(op, values, call, 'an all-reduce of indexed slices gathers them');
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
    for (const pack of batchPacks(values, call.options.bytesPerPack, this.#setup)) {
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
    const run = runOptionsOf(call);
    if (communicator.runPieces && packer instanceof ConcatAndSplitPacker && packer.numPacks === 1) {
      this.#tell(perDevice, 1);
      const outputs = resultsOf(collective, perDevice, call);
      await communicator.runPieces(collective, perDevice, outputs, run);
      return outputs;
    }
    const packed = packer?.pack(perDevice) ?? perDevice;
    this.#tell(perDevice, packed[0]?.length ?? 0);
    const outputs = resultsOf(collective, packed, call);
    for (const index of (packed[0] ?? []).keys()) {
      const at = (lists: readonly (readonly Tensor[])[]) => lists.map((tensors) => tensors[index] as Tensor);
      await communicator.run(collective, at(packed), at(outputs), run);
    }
    if (!packer) return outputs;
    const [shared] = call.sharedResult ? packer.unpack(outputs.slice(0, 1)) : [];
    return shared ? outputs.map(() => shared) : packer.unpack(outputs);
  }

  #tell(perDevice: readonly (readonly Tensor[])[], packs: number): void {
    const told = `${perDevice[0]?.length} values in ${packs} packs over ${perDevice.length} devices`;
    logFirst(10, `${this.name} all-reduce`, 'info', `batch all-reduce: ${told} with ${this.name}`);
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
    const made = fitsWorld ? world.communicator(algorithm) : this.#resolution.engine.communicator(size, algorithm);
    this.#communicators.set(size, made);
    return made;
  }

  #fallBack(why: string): void {
    const { fallback } = this.#setup;
    const remark = `${why}; ${fallback.name} serves it`;
    if (this.note(remark)) logFirst(10, remark, 'info', `${this.name}: ${remark}`);
  }
}

function callOf({ options, signal, sharedResult }: ResolvedOptions): CallOptions {
  return { options, signal, sharedResult };
}

function runOptionsOf({ options, signal, sharedResult }: ResolvedOptions): RunOptions {
  const { timeoutSeconds } = options;
  return { timeoutSeconds, ...(signal ? { signal } : {}), ...(sharedResult ? { sharedResult } : {}) };
}

/** @throws ValueError where another engine is asked for than the world's */
function requireEngineOf(world: World | undefined, engine: EngineRequest): void {
  requireEngineRequest(engine);
  if (!world || engine === 'auto' || engine === world.engine) return;
  throw new ValueError(
    'ERR_COLL_VALUE',
    `engine: ${engine} was asked for, but in this world ${world.engine} plays; ask whoever makes the world, such as new MirroredStrategy({ engine: '${engine}' })`,
  );
}

/** Memory for the results: one buffer a device, or one for all. */
function resultsOf(
  collective: Collective,
  perDevice: readonly (readonly Tensor[])[],
  { sharedResult }: ResolvedOptions,
): Tensor[][] {
  const make = (tensors: readonly Tensor[]) => {
    const [first] = tensors;
    if (!first) return [];
    const length = tensors.reduce((sum, { data }) => sum + data.length, 0);
    return splitLike(zeros(outputDType(collective, first.dtype), [length], first.device), tensors);
  };
  if (!sharedResult) return perDevice.map(make);
  const shared = make(perDevice[0] ?? []);
  return perDevice.map(() => shared);
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
