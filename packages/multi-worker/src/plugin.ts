import { definePlugin, type Plugin } from '@coll/core';
import { MultiWorkerAllReduce, type MultiWorkerAllReduceOptions } from './multi-worker-all-reduce.js';

/** What `MultiWorkerAllReduce` takes, as one object. Without workers they are those that the world's devices name. */
export interface MultiWorkerOptions extends MultiWorkerAllReduceOptions {
  /** The workers, such as `/job:worker/task:0`. */
  readonly workerDevices?: readonly string[] | undefined;
  /** How many devices each of them has. */
  readonly numGpusPerWorker?: number | undefined;
}

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    'multi-worker': MultiWorkerOptions;
  }
}

/** Two levels, within workers and across them, or whatever else a specification says for tensors of each size. */
export const multiWorker: Plugin<MultiWorkerOptions> = definePlugin({
  name: 'multi-worker',
  module: import.meta.url,
  priority: 5,
  capabilities: { severalTasks: true },
  create: (options, world) => {
    const { workerDevices, numGpusPerWorker, ...others } = options ?? {};
    return new MultiWorkerAllReduce(workerDevices, numGpusPerWorker, others, world);
  },
});
