import {
  ClusterSpec,
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
  SimpleClusterResolver,
} from '@coll/strategy';
import { processGroupDoubles } from '../../multi-worker/test/doubles/process-group-double.js';

export const cpus = (count: number) => Array.from({ length: count }, (_, index) => `cpu:${index}`);

/** The strategies of all workers, in this thread, over doubles of a group of processes. */
export function workersOf(workers: number, replicas: number, options: MultiWorkerMirroredStrategyOptions = {}) {
  const cluster = new ClusterSpec({ worker: cpus(workers).map((_, worker) => `host:${worker}`) });
  return processGroupDoubles(workers).map((group, taskId) => {
    const clusterResolver = new SimpleClusterResolver(cluster, { taskType: 'worker', taskId });
    return new MultiWorkerMirroredStrategy({ clusterResolver, devices: cpus(replicas), group, ...options });
  });
}
