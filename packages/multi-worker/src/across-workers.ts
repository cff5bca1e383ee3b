import {
  type CommunicationOptions,
  CrossDeviceOps,
  type EngineResolution,
  type Explanation,
  type PossiblyMirrored,
  type ProcessGroup,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  resolveEngine,
  type Tensor,
  ValueError,
  type World,
} from '@coll/core';
import {
  type Batch,
  drive,
  isDense,
  knownOptions,
  optionsOf,
  overriddenReduce,
  quote,
  requireFunction,
  requireGivenGroup,
  runOptionsOf,
  type ValueLists,
  type Work,
  workerCountOf,
} from '@coll/core/internal';
import { mirror, portableWorld } from '@coll/core/plugin';
import { autoAlgorithm } from './auto-communicator.js';
import { type CollectiveSetting, collectiveSetting } from './collective-options.js';
import { othersOf, worldOfAll } from './collective-workers.js';
import { WorkerAllReduce } from './worker-all-reduce.js';

/** The devices of several workers, each of which is a process. */
export interface WorkersOptions {
  /** The processes, one per worker. */
  readonly group: ProcessGroup;
  /** The devices of this worker. All workers have equally many. */
  readonly devices: readonly string[];
  /** The options of all calls; those of a call override them. Default: the defaults of `CommunicationOptions`. */
  readonly options?: CommunicationOptions | undefined;
  /** The engine for the arithmetic within this worker. Default: the fastest that works here. */
  readonly engine?: EngineResolution | undefined;
}

const workersOptions = knownOptions<WorkersOptions>('acrossWorkers', {
  group: true,
  devices: true,
  options: true,
  engine: true,
});

/**
 * Cross-device ops for the devices of several workers, which combine dense values by the ops that
 * `create` makes for the world of all workers. Gathers and sparse values of several devices per
 * worker are sent to all workers, as by `CollectiveAllReduce`. All workers must pass the same ops.
 * Closing the result closes the ops of `create`, and leaves the group open.
 * @throws ValueError for invalid arguments, and (ERR_COLL_REFUSED) for ops that would leave out the values of other workers,
 * and for a group whose library chooses the algorithms itself, such as MPI
 *
 * @example
 * ```ts
 * import { acrossWorkers } from '@coll/multi-worker';
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 * import { ring } from '@coll/ring';
 *
 * const [store, jobKey] = [new MemoryStore(), TcpStoreServer.newKey()];
 * const workers = [0, 1].map(async (rank) => {
 *   await using group = await openProcessGroup({ store, rank, size: 2, jobKey });
 *   await using ops = await acrossWorkers((world) => ring.create({}, world), { group, devices: ['cpu:0'] });
 *   const sum = await ops.allReduce('SUM', new Float32Array([rank + 1]), rank);
 *   return 'data' in sum && sum.data;
 * });
 * console.log((await Promise.all(workers))[0]); // Float32Array(1) [ 3 ]
 * ```
 */
export async function acrossWorkers(
  create: (world: World) => CrossDeviceOps | Promise<CrossDeviceOps>,
  given: WorkersOptions,
): Promise<CrossDeviceOps> {
  const {
    group,
    devices,
    options,
    engine = resolveEngine(),
  } = optionsOf(given, '{ group, devices }', workersOptions) as WorkersOptions;
  requireFunction(create, 'acrossWorkers: create');
  requireGivenGroup(group);
  if (typeof Object(Object(engine).engine).communicator !== 'function')
    throw invalid('engine must be a resolution, the result of resolveEngine()', engine);
  if (group.executesBy !== undefined) throw executesByItself(group.executesBy);
  const setting = collectiveSetting(devices, undefined, { options, group }, undefined);
  const world = worldOfAll(setting, engine);
  const ops = await create(world);
  if (!(ops instanceof CrossDeviceOps)) throw invalid('create must return cross-device ops', ops);
  if (workerCountOf(ops) === group.size) return ops;
  try {
    requireReach(ops, world);
    return new PluginAllReduce(ops, setting, engine);
  } catch (error) {
    await ops.close();
    throw error;
  }
}

/** Combines dense values by the ops of a plug-in, which know the world of all workers. */
class PluginAllReduce extends WorkerAllReduce {
  readonly name: string;
  readonly #dense: CrossDeviceOps;
  readonly #options: CommunicationOptions;
  /** Whether each worker has one device, so that the ops of the plug-in serve all calls of its replica. */
  readonly #isRank: boolean;

  constructor(dense: CrossDeviceOps, setting: CollectiveSetting, resolution: EngineResolution) {
    const { devices = [], options } = setting;
    const algorithm = autoAlgorithm();
    const world = { ...portableWorld(devices, resolution.engine), resolution };
    super({ algorithm, world, others: othersOf(setting, algorithm) });
    this.name = dense.name;
    this.#dense = dense;
    this.#options = options;
    this.#isRank = devices.length === 1;
  }

  override get severalTasks(): boolean {
    return true;
  }

  override explain(): Explanation {
    const { notes, ...explanation } = this.#dense.explain();
    return { ...explanation, notes: [...notes, ...super.explain().notes] };
  }

  override withDefaults(call: ResolvedOptions): ResolvedOptions {
    const merged = { ...call, options: this.#options.merge(call.options) };
    // The only local result is that of all local replicas.
    const own = this.#isRank && call.sharedResult ? { ...merged, sharedResult: false } : merged;
    return this.#dense.withDefaults(own);
  }

  override perform(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    if (!this.#isRank && !isDense(batch)) return super.perform(batch, call);
    return this.inReplicaNumbers(() => this.#dense.perform(batch, call));
  }

  override performSync(batch: Batch, call: ResolvedOptions): Work<ValueLists> {
    return this.#isRank ? this.#dense.performSync(batch, call) : this.perform(batch, call);
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#dense.close();
  }

  protected override async reduceDense(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    { targets: _, ...given }: ResolvedOptions,
  ): Promise<PossiblyMirrored[]> {
    const call = this.withDefaults(given);
    const values = pairs.map(([value]) => value.values as readonly Tensor[]);
    const inputs = (values[0] as readonly Tensor[]).map((_, device) => values.map((each) => each[device] as Tensor));
    const form = pairs.length === 1 ? '' : `[${pairs.length}]`;
    const results = await drive(
      this.perform({ request: { kind: 'all-reduce', op }, inputs, form }, call),
      runOptionsOf(call),
    );
    return values.map((_, index) => mirror(results.map((list) => list[index] as Tensor)));
  }
}

/** @throws ValueError for ops that would combine the values of this worker only */
function requireReach(ops: CrossDeviceOps, world: World): void {
  const method = overriddenReduce(ops);
  if (method !== undefined) {
    const why = `its ${method} gets the components of one worker only`;
    throw refused(ops.name, why, 'extend AllReduceOps, and pass an algorithm or a wrapper of the communicator');
  }
  if (ops.replicaGroup?.size === world.devices.length) return;
  throw refused(ops.name, 'its ops were created without the world of all workers', 'pass the world on from create()');
}

function invalid(rule: string, value: unknown): ValueError {
  return new ValueError('ERR_COLL_VALUE', `acrossWorkers: ${rule}, got ${quote(value)}`);
}

function refused(name: string, why: string, advice: string): ValueError {
  const message = `the ops "${name}" cannot serve several workers, because ${why}: ${advice}`;
  return new ValueError('ERR_COLL_REFUSED', message, { operation: 'start' });
}

function executesByItself(library: string): ValueError {
  const message = `${library} executes collectives between workers by its own algorithms, so that a plug-in cannot`;
  const advice = 'omit crossDeviceOps, or start the workers without the plug-in for this library';
  return new ValueError('ERR_COLL_REFUSED', `${message}: ${advice}`, { operation: 'start' });
}
