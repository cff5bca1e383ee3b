import {
  type CallOptions,
  type CollError,
  type CommunicationOptions,
  type CrossDeviceOps,
  type EngineResolution,
  type Group,
  type Link,
  type LinkSpeeds,
  type ProcessGroup,
  type ReduceOp,
  RuntimeError,
  registry,
  type Tensor,
  type Turn,
  tensor,
} from '@coll/core';
import {
  linkMeasurementOf,
  messageOf,
  noRefusals,
  RankNames,
  refusedAgain,
  resolveCallOptions,
} from '@coll/core/internal';
import { deviceType, type Purpose, portableWorld } from '@coll/core/plugin';
import { CollectiveAllReduce } from '@coll/multi-worker';
import type { OpsChoice } from '../choice/ops-choice.js';
import { CountedGroups, type StrategyFigures } from '../choice/strategy-log.js';
import { warnOfInvisible } from '../choice/visible-devices.js';
import type { WorkerGroup } from '../scope/worker-group.js';
import { forDevices } from './nccl-for-devices.js';
import { nameForWorkers, opsAcrossWorkers } from './ops-across-workers.js';
import { requireSameSettings } from './same-settings.js';

const longestDepartureSeconds = 30;

/** This worker, and how it joins the other workers. */
export interface WorkerCollectivesOptions {
  readonly workers: number;
  /** The devices of this worker. */
  readonly devices: readonly string[];
  /** The CPU of this worker, on which values without a component per device are combined. */
  readonly host: string;
  readonly communication: CommunicationOptions;
  /** The engine for the arithmetic within this worker. */
  readonly engine: EngineResolution;
  /** The ops that the user requested for the devices. Undefined: `CollectiveAllReduce`. */
  readonly choice: OpsChoice | undefined;
  /**
   * Opens the group of workers. The signal aborts the opening. `open` is called only if there are
   * several workers, and again only after a failure.
   */
  readonly open: (signal: AbortSignal) => Promise<OwnedGroup>;
}

/** A group; disposing of it releases everything that belongs to it. */
export interface OwnedGroup extends AsyncDisposable {
  readonly group: ProcessGroup;
}

interface WorkerOps {
  readonly group: ProcessGroup | undefined;
  /** Collectives over the devices of all workers. */
  readonly deviceOps: CrossDeviceOps;
  /**
   * All-reduce over the CPU of every worker: one rank per worker, for values without a component
   * per device.
   */
  readonly hostOps: CollectiveAllReduce;
  close(): Promise<void>;
}

/**
 * Communication between the workers of a strategy. The group of workers is opened by the first
 * call, or by `ready`.
 */
export class WorkerCollectives implements WorkerGroup {
  readonly size: number;
  readonly #options: WorkerCollectivesOptions;
  readonly #counts = new CountedGroups();
  #opening: Promise<WorkerOps> | undefined;
  #ops: WorkerOps | undefined;
  /** The calls that this worker has refused before the group was open. */
  #early = noRefusals;
  /** The error of the latest failed attempt to open the group. */
  #openingError: unknown;
  /** `close` aborts this controller, which ends an opening of the group that is under way. */
  readonly #closing = new AbortController();

  constructor(options: WorkerCollectivesOptions) {
    this.size = options.workers;
    this.#options = options;
  }

  /** Waits for all workers. */
  async ready(): Promise<void> {
    await this.#open();
  }

  async deviceOps(): Promise<CrossDeviceOps> {
    return (await this.#open()).deviceOps;
  }

  async hostOps(): Promise<CrossDeviceOps> {
    return (await this.#open()).hostOps;
  }

  async broadcast(values: readonly Tensor[], worker: number, call?: CallOptions): Promise<readonly Tensor[]> {
    if (this.size === 1) return values;
    const ops = await this.#open();
    const group = this.#replicas(ops);
    const { rank } = ops.group as ProcessGroup;
    const made = group.broadcastCall([...values], worker, rank, this.#merged(call));
    return group.run(group.ownCall('variable', made)) as Promise<Tensor[]>;
  }

  broadcastSync(value: Tensor, worker: number, call?: CallOptions): Tensor {
    if (this.size === 1) return value;
    const ops = this.#requireOpen('broadcast');
    const group = this.#replicas(ops);
    const { rank } = ops.group as ProcessGroup;
    const made = group.broadcastCall(value, worker, rank, this.#merged(call));
    return group.runSync(group.ownCall('variable', made)) as Tensor;
  }

  async allReduce(op: ReduceOp, value: Tensor, call?: CallOptions): Promise<Tensor> {
    if (this.size === 1) return value;
    const { hostOps, group } = await this.#open();
    return hostOps.allReduce(op, value, (group as ProcessGroup).rank, this.#merged(call)) as Promise<Tensor>;
  }

  async allReduceFor(purpose: Purpose, op: ReduceOp, value: Tensor, call?: CallOptions): Promise<Tensor> {
    if (this.size === 1) return value;
    const ops = await this.#open();
    const group = this.#replicas(ops);
    const { rank } = ops.group as ProcessGroup;
    return group.run(group.ownCall(purpose, group.reduceCall(op, value, rank, this.#merged(call)))) as Promise<Tensor>;
  }

  allReduceSync(op: ReduceOp, value: Tensor): Tensor {
    if (this.size === 1) return value;
    const ops = this.#requireOpen('all-reduce');
    const group = this.#replicas(ops);
    const { rank } = ops.group as ProcessGroup;
    return group.runSync(group.ownCall('variable', group.reduceCall(op, value, rank, this.#call))) as Tensor;
  }

  async inTurn<Result>(calls: (turn?: Turn) => Promise<Result>): Promise<Result> {
    if (this.size === 1) return calls();
    const { order } = this.#replicas(await this.#open()).group as Group;
    return order.hold(calls);
  }

  refuse(error: unknown): void {
    // A call that failed because workers had not joined may be made again.
    if (this.size === 1 || error === this.#openingError) return;
    if (this.#ops) this.#ops.hostOps.refused(error, 1);
    else this.#early = refusedAgain(this.#early, error);
  }

  /** This worker's links to the other workers; empty until all workers have joined. */
  get links(): readonly Link[] {
    return this.#ops?.group?.links ?? [];
  }

  /** The measured speeds of the links between workers. */
  get linkSpeeds(): LinkSpeeds | undefined {
    const group = this.#ops?.group;
    return group && linkMeasurementOf(group)?.speeds;
  }

  /** The host of each worker; empty until all workers have joined. */
  get hosts(): readonly string[] {
    return this.#ops?.group?.hosts ?? [];
  }

  /** The collectives of this worker: of the group of workers or, if this is the only one, of its devices. */
  get figures(): StrategyFigures {
    if (!this.#ops?.group) return this.#counts.figures;
    const { order } = this.#replicas(this.#ops).group as Group;
    return { collectives: order.begun, bytes: order.bytes };
  }

  /**
   * The failure that ended communication between the workers, with ranks converted to replicas;
   * undefined if there is none.
   */
  failure(): Error | undefined {
    const failure = this.#ops?.group?.failure?.();
    if (!failure) return undefined;
    return RankNames.ofWorkers(this.size, this.#options.devices.length).translated(failure) as Error;
  }

  /**
   * Waits until a worker whose threads have ended leaves this group as well, or fails. Resolves with its failure;
   * undefined if it has left, and if it has done neither within 30 seconds.
   */
  async departure(): Promise<Error | undefined> {
    // The worker that ends never joins this collective. How the group ends meanwhile is its failure.
    const options = { timeoutSeconds: longestDepartureSeconds };
    await this.allReduceFor('worker end', 'MAX', tensor(0), options).catch(() => {});
    const failure = this.failure() as Partial<CollError> | undefined;
    const hasFailed = failure && failure.code !== 'ERR_COLL_CLOSED' && failure.code !== 'ERR_COLL_DEADLINE';
    return hasFailed ? (failure as Error) : undefined;
  }

  /** Ends the communication with an error, for all workers. */
  fail(error: unknown): void {
    this.#ops?.group?.fail(error instanceof Error ? error : new Error(messageOf(error)));
  }

  /** Leaves the group of workers. */
  async close(): Promise<void> {
    this.#closing.abort();
    // A group that could not be opened needs no closing, and the caller already has the error.
    const ops = await this.#opening?.catch(() => undefined);
    if (!ops) return;
    if (!this.#options.choice?.given) await ops.deviceOps.close();
    await ops.hostOps.close();
    await ops.close();
  }

  get #call() {
    const { timeoutSeconds } = this.#options.communication;
    return { timeoutSeconds };
  }

  #merged(call: CallOptions | undefined) {
    const { options, signal, turn } = resolveCallOptions(call);
    return { options: this.#options.communication.merge(options), signal, turn };
  }

  #replicas({ hostOps }: WorkerOps) {
    return replicasOf(hostOps);
  }

  #requireOpen(operation: string): WorkerOps {
    if (this.#ops) return this.#ops;
    const message = 'the workers have not joined yet, and this call cannot wait for them';
    const advice = 'await strategy.ready() before you create or read variables outside replicas';
    const error = new RuntimeError('ERR_COLL_CONTEXT', `${message}: ${advice}`, { operation });
    this.refuse(error);
    throw error;
  }

  #open(): Promise<WorkerOps> {
    if (this.#closing.signal.aborted) throw closedError();
    this.#opening ??= this.#openOps().catch((error: unknown) => {
      // The next call tries again.
      this.#opening = undefined;
      this.#openingError = error;
      throw error;
    });
    return this.#opening;
  }

  async #openOps(): Promise<WorkerOps> {
    // An invalid request fails before the workers wait for each other.
    await this.#nameOfOps();
    const owned = this.size === 1 ? undefined : await this.#openGroup();
    try {
      this.#ops = await this.#createOps(owned);
    } catch (error) {
      await owned?.[Symbol.asyncDispose]();
      throw error;
    }
    const { count, latest } = this.#early;
    if (count > 0) this.#ops.hostOps.refused(latest, count);
    return this.#ops;
  }

  async #openGroup(): Promise<OwnedGroup> {
    const { signal } = this.#closing;
    try {
      return await this.#options.open(signal);
    } catch (error) {
      throw signal.aborted ? closedError(' while it waited for the other workers', error) : error;
    }
  }

  async #nameOfOps(): Promise<string | undefined> {
    const { choice, workers } = this.#options;
    return choice && nameForWorkers(choice, workers);
  }

  async #createOps(owned: OwnedGroup | undefined): Promise<WorkerOps> {
    const { devices, host, communication: options, engine, choice } = this.#options;
    const group = owned?.group;
    const close = async () => owned?.[Symbol.asyncDispose]();
    const crossDeviceOps = await this.#nameOfOps();
    if (!choice) await warnOfInvisible(devices, registry);
    const opsOf = (own: readonly string[], communication: CommunicationOptions) => {
      const world = this.#counts.counted({ ...portableWorld(own, engine.engine), resolution: engine });
      return new CollectiveAllReduce(own, own.length * this.size, { options: communication, group }, world);
    };
    const hostOps = opsOf([host], forDevices(options, [host]));
    if (group) await requireSameSettings(group, { devices, communication: options, crossDeviceOps });
    // All workers check NCCL and measure their links now, at the same point of their call order.
    await hostOps.join();
    if (choice) {
      const deviceOps = await (group ? opsAcrossWorkers(choice, devices, group, options) : choice.ops());
      return { group, deviceOps, hostOps, close };
    }
    const isOnHost = group && devices.length === 1 && deviceType(devices[0] as string) === 'CPU';
    const deviceOps = isOnHost ? hostOps : opsOf(devices, options);
    if (deviceOps !== hostOps) await deviceOps.join();
    return { group, deviceOps, hostOps, close };
  }
}

function closedError(when = '', cause?: unknown): RuntimeError {
  const message = `this MultiWorkerMirroredStrategy was closed${when}; create a new one`;
  return new RuntimeError('ERR_COLL_CLOSED', message, { operation: 'start', cause });
}

function replicasOf({ replicaGroup }: CollectiveAllReduce) {
  return replicaGroup as NonNullable<typeof replicaGroup>;
}
