import { definePlugin, type Plugin } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import { CollectiveAllReduce } from './collective-all-reduce.js';
import type { CollectiveAllReduceOptions } from './collective-options.js';
import { MultiWorkerAllReduce, type MultiWorkerAllReduceOptions } from './multi-worker-all-reduce.js';

/**
 * The arguments of `MultiWorkerAllReduce` as one object. By default, the devices of the world
 * determine the workers.
 */
export interface MultiWorkerOptions extends MultiWorkerAllReduceOptions {
  /** The workers, such as `/job:worker/task:0`. */
  readonly workerDevices?: readonly string[] | undefined;
  /** Number of devices per worker. */
  readonly numGpusPerWorker?: number | undefined;
}

const multiWorkerOptions = knownOptions<MultiWorkerOptions>('multi-worker', {
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  allReduceSpec: true,
  limitUnit: true,
  group: true,
  workerDevices: true,
  numGpusPerWorker: true,
});

/** The arguments of `CollectiveAllReduce` as one object. By default, the devices are the devices of the world. */
export interface CollectiveOptions extends CollectiveAllReduceOptions {
  /** The devices of this worker. */
  readonly devices?: readonly string[] | undefined;
  /** Number of devices of all workers. */
  readonly groupSize?: number | undefined;
}

const collectiveOptions = knownOptions<CollectiveOptions>('collective', {
  bytesPerPack: true,
  timeoutSeconds: true,
  implementation: true,
  checkCalls: true,
  numPacks: true,
  aggSmallGradsMaxBytes: true,
  aggSmallGradsMaxGroup: true,
  engine: true,
  options: true,
  group: true,
  collectiveKeys: true,
  devices: true,
  groupSize: true,
});

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    'multi-worker': MultiWorkerOptions;
    collective: CollectiveOptions;
  }
}

/**
 * All-reduce in two levels, within and across workers, or with the algorithms that an all-reduce
 * specification selects by tensor size.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { multiWorker } from '@coll/multi-worker';
 *
 * registry.register(multiWorker);
 * const workerDevices = ['/job:worker/task:0', '/job:worker/task:1'];
 * await using ops = await registry.create('multi-worker', { workerDevices, numGpusPerWorker: 2 });
 * console.log(ops.name); // multi-worker
 * ```
 */
export const multiWorker: Plugin<MultiWorkerOptions> = definePlugin({
  name: 'multi-worker',
  module: import.meta.url,
  priority: 5,
  capabilities: { severalTasks: true },
  create: (options, world) => {
    const { workerDevices, numGpusPerWorker, ...others } = optionsOf(
      options,
      "{ allReduceSpec: 'xring' }",
      multiWorkerOptions,
    );
    return new MultiWorkerAllReduce(workerDevices, numGpusPerWorker, others, world);
  },
});

/**
 * All-reduce across workers that are processes, by the fastest algorithm for the size. Without a
 * group, the only worker is this process.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { collective } from '@coll/multi-worker';
 *
 * registry.register(collective);
 * await using ops = await registry.create('collective', { devices: ['cpu:0', 'cpu:1'] });
 * console.log(ops.name); // collective
 * ```
 */
export const collective: Plugin<CollectiveOptions> = definePlugin({
  name: 'collective',
  module: import.meta.url,
  priority: 4,
  capabilities: { severalTasks: true },
  create: (options, world) => {
    const { devices, groupSize, ...others } = optionsOf(options, '{ group }', collectiveOptions);
    return new CollectiveAllReduce(devices, groupSize, others, world);
  },
});
