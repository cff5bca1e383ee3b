import {
  type CallOptions,
  CrossDeviceOps,
  type Destinations,
  type DistributedValues,
  type Explanation,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type Registry,
  type ResolvedOptions,
  registry as sharedRegistry,
  type Tensor,
  type Value,
} from '@coll/core';
import { knownOptions, logDeprecated, optionsOf, requireRegistry } from '@coll/core/internal';
import { HierarchicalCopyAllReduce, type HierarchicalCopyOptions } from './hierarchical-copy-all-reduce.js';

/** Options of TensorFlow's `AllReduceCrossDeviceOps`: an algorithm by name, and the packing. */
export interface AllReduceCrossDeviceOpsOptions extends HierarchicalCopyOptions {
  /**
   * `'nccl'` selects the plug-in of that name; any other name selects hierarchical copy. Default:
   * `'nccl'`.
   */
  readonly allReduceAlg?: string | undefined;
  /** The registry that contains `nccl`. Default: the registry of this realm. */
  readonly registry?: Registry | undefined;
}

const knownFields = knownOptions<AllReduceCrossDeviceOpsOptions>('AllReduceCrossDeviceOps', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  allReduceAlg: true,
  registry: true,
});

/**
 * Cross-device ops selected by the name of their algorithm, for programs written for TensorFlow.
 * The first use logs a warning.
 * @deprecated Use `HierarchicalCopyAllReduce`, or `NcclAllReduce` of `@coll/nccl`.
 *
 * @example
 * ```ts
 * import { PerReplica, setLogSink, tensor } from '@coll/core';
 * import { AllReduceCrossDeviceOps } from '@coll/hierarchical-copy';
 *
 * setLogSink(() => {}); // without the warning that the name is deprecated
 * await using ops = new AllReduceCrossDeviceOps({ allReduceAlg: 'hierarchical_copy' });
 * setLogSink();
 * const devices = ['cpu:0', 'cpu:1'];
 * const value = new PerReplica(devices.map((device, index) => tensor([index], { device })));
 * const mean = await ops.reduce('MEAN', value, devices);
 * console.log('values' in mean && mean.values.map(({ data }) => data[0])); // [ 0.5, 0.5 ]
 * ```
 */
export class AllReduceCrossDeviceOps extends CrossDeviceOps {
  readonly name: string;
  readonly #open: () => Promise<CrossDeviceOps>;
  #opening: Promise<CrossDeviceOps> | undefined;
  #ops: CrossDeviceOps | undefined;

  /**
   * @throws ValueError unless `fields` is an object, or for a negative `numPacks` (with `nccl` only
   * at the first call); CollError if `nccl` is requested but not registered
   */
  constructor(fields?: AllReduceCrossDeviceOpsOptions) {
    super();
    const given = optionsOf(fields, "{ allReduceAlg: 'hierarchical_copy', numPacks: 1 }", knownFields);
    const { allReduceAlg = 'nccl', registry = sharedRegistry, ...options } = given;
    const isNccl = allReduceAlg === 'nccl';
    logDeprecated('AllReduceCrossDeviceOps', isNccl ? 'NcclAllReduce' : 'HierarchicalCopyAllReduce');
    requireRegistry(registry);
    if (isNccl) {
      const plugin = registry.get('nccl');
      this.#open = () => registry.create({ name: plugin, options });
    } else {
      const ops = new HierarchicalCopyAllReduce(options);
      this.#ops = ops;
      this.#open = async () => ops;
    }
    this.name = isNccl ? 'nccl' : 'hierarchical-copy';
  }

  /** The explanation of the ops of the chosen algorithm, once these ops have been created. */
  override explain(): Explanation {
    return this.#ops?.explain() ?? super.explain();
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#ops?.close();
  }

  protected async reduceImplementation(
    op: ReduceOp,
    value: DistributedValues<Value>,
    destinations: Destinations,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored> {
    return (await this.#serving()).reduce(op, value, destinations, callOf(call));
  }

  protected override async batchReduceImplementation(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    return (await this.#serving()).batchReduce(op, pairs, callOf(call));
  }

  protected override async broadcastImplementation(
    value: Value,
    destinations: Destinations,
  ): Promise<PossiblyMirrored> {
    return (await this.#serving()).broadcast(value, destinations);
  }

  protected override async gatherImplementation(
    value: DistributedValues<Tensor>,
    destinations: Destinations,
    axis: number,
    call: ResolvedOptions,
  ): Promise<PossiblyMirrored<Tensor>> {
    return (await this.#serving()).gather(value, destinations, axis, callOf(call));
  }

  /**
   * Returns the ops of the chosen algorithm, which are created at the first call. If creating them
   * fails, the next call tries again.
   */
  async #serving(): Promise<CrossDeviceOps> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    this.#ops = await this.#opening;
    return this.#ops;
  }
}

/**
 * `AllReduceCrossDeviceOps` under its original name in TensorFlow.
 *
 * @example
 * ```ts
 * import { AllReduceCrossDeviceOps, AllReduceCrossTowerOps } from '@coll/hierarchical-copy';
 *
 * console.log(AllReduceCrossTowerOps === AllReduceCrossDeviceOps); // true
 * ```
 */
export const AllReduceCrossTowerOps = AllReduceCrossDeviceOps;

/** The options of a call that are passed on to the ops of the chosen algorithm. */
function callOf({ options, signal, sharedResult, deduplicate }: ResolvedOptions): CallOptions {
  return { options, signal, sharedResult, deduplicate };
}
