import { type CrossDeviceOps, type Plugin, type ResolvedOptions, resolveEngine, type World } from '@coll/core';
import { warnOfOpenTraffic } from '@coll/core/internal';
import type { Algorithm } from '@coll/core/schedule';
import { ringAlgorithm } from '@coll/ring';
import type { CollectiveAllReduceOptions, CollectiveSetting } from './collective-options.js';
import { othersOf, worldHere, worldOfAll } from './collective-workers.js';
import { MultiWorkerAllReduce } from './multi-worker-all-reduce.js';
import { NcclChoice, type NcclChoiceOptions } from './nccl-choice.js';
import { WorkerAllReduce, type WorkerSetup } from './worker-all-reduce.js';

/** The ops between which the calls of `CollectiveAllReduce` choose, and how they are made. */
export interface CollectiveRouterOptions extends Pick<NcclChoiceOptions, 'gatherLines' | 'remark'> {
  /** The ops for calls that request nothing else. */
  readonly own: WorkerAllReduce;
  /** The algorithms of `own`: a ring, or a choice by size. */
  readonly onHost: 'AUTO' | 'RING';
  readonly setting: CollectiveSetting;
  readonly given: CollectiveAllReduceOptions;
  readonly world: World | undefined;
}

/** What a call must state to be routed. */
type RoutedCall = Pick<ResolvedOptions, 'options' | 'turn'>;

/**
 * Chooses the ops that serve a call: those of `CollectiveAllReduce` itself, a ring, or NCCL. All
 * workers must request the same implementation, and get the same choice.
 */
export class CollectiveRouter {
  readonly #options: CollectiveRouterOptions;
  readonly #nccl: NcclChoice;
  /** The ops for calls that request a ring, if `own` chooses by size; undefined until such a call. */
  #ring: RingAllReduce | undefined;

  constructor(options: CollectiveRouterOptions) {
    const { setting, gatherLines, remark } = options;
    this.#options = options;
    this.#nccl = new NcclChoice({
      workers: setting.group?.size ?? 1,
      gatherLines,
      open: (plugin) => this.#openNccl(plugin),
      remark,
    });
  }

  /** Notes on how NCCL deviates from the request. */
  get notes(): readonly string[] {
    return this.#nccl.notes;
  }

  /** The ops for a call with values on these devices; undefined if only NCCL and other workers know. */
  known({ options: { implementation } }: RoutedCall, devices: readonly string[]): WorkerAllReduce | undefined {
    const isOnHost = implementation === 'RING' || this.#nccl.hasNoGpu(implementation, devices);
    return isOnHost ? this.#onHost(implementation) : undefined;
  }

  /**
   * The ops for a call with values on these devices.
   * @throws CollError if the call requests NCCL, but it is not available on a worker
   */
  async choose({ options: { implementation }, turn }: RoutedCall, devices: readonly string[]): Promise<CrossDeviceOps> {
    const nccl = implementation === 'RING' ? undefined : await this.#nccl.opsFor(implementation, devices, turn);
    return nccl ?? this.#onHost(implementation);
  }

  /** The ops for a call that blocks the thread, which NCCL cannot serve. */
  chooseSync({ options: { implementation } }: RoutedCall, devices: readonly string[]): WorkerAllReduce {
    if (implementation !== 'RING') this.#nccl.refuseBlocking(implementation, devices);
    return this.#onHost(implementation);
  }

  /** Closes the ops that were made for calls with another implementation. */
  async close(): Promise<void> {
    await this.#nccl.close();
    await this.#ring?.close();
  }

  #onHost(implementation: RoutedCall['options']['implementation']): WorkerAllReduce {
    const { own, onHost } = this.#options;
    return implementation === 'AUTO' || onHost === 'RING' ? own : this.#ringOps();
  }

  #ringOps(): RingAllReduce {
    const { setting, given, world } = this.#options;
    this.#ring ??= new RingAllReduce(setupOf(setting, given, world, ringAlgorithm()));
    return this.#ring;
  }

  #openNccl(plugin: Plugin<never>): CrossDeviceOps | Promise<CrossDeviceOps> {
    const { setting, given, world, remark } = this.#options;
    const { devices, group } = setting;
    const { numPacks } = given;
    if (!group || !devices) {
      remark('info', 'NCCL executes all-reduces across the GPUs of this process');
      return plugin.create(undefined);
    }
    if (!plugin.capabilities?.severalProcesses) {
      remark(
        'info',
        'NCCL executes all-reduces within each worker, and a ring across workers, because this plug-in does not support several processes',
      );
      const workers = Array.from({ length: group.size }, (_, rank) => `/job:worker/task:${rank}`);
      const { aggSmallGradsMaxBytes, aggSmallGradsMaxGroup, engine } = given;
      const packing = { numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup };
      const own = { ...packing, engine, group, allReduceSpec: 'nccl/xring' };
      return new MultiWorkerAllReduce(workers, devices.length, own, world);
    }
    remark(
      'info',
      'NCCL executes all-reduces across the GPUs of all workers and concatenates values in their memory; everything else goes through the host',
    );
    if (group.rank === 0) warnOfOpenTraffic('NCCL', group.hosts);
    const options = { onHost: this.#ringOps(), ...(numPacks === undefined ? {} : { numPacks }) };
    const resolution = world?.resolution ?? resolveEngine(given.engine);
    return plugin.create(options as never, worldOfAll(setting, resolution));
  }
}

/** A ring over the devices of all workers, for calls that request it. */
export class RingAllReduce extends WorkerAllReduce {
  readonly name = 'collective';

  override get severalTasks(): boolean {
    return true;
  }
}

/** The parts of ops that execute an algorithm on the devices of all workers. */
export function setupOf(
  setting: CollectiveSetting,
  { engine, numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup }: CollectiveAllReduceOptions,
  world: World | undefined,
  algorithm: Algorithm,
): WorkerSetup {
  const { devices, group } = setting;
  const packing = { numPacks, aggSmallGradsMaxBytes, aggSmallGradsMaxGroup };
  // Replicas of this worker may call these ops from inside, with or without other workers.
  const own = world ?? (devices && worldHere(devices, engine, group));
  return { ...packing, engine, world: own, algorithm, others: othersOf(setting, algorithm) };
}
