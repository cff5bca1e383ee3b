import {
  CommunicationOptions,
  type CrossDeviceOps,
  canonicalize,
  DeviceSpec,
  type Engine,
  type ProcessGroup,
  registry,
  resolveEngine,
  type World,
} from '@coll/core';
import { messageOf, rankOfWorker } from '@coll/core/internal';
import { threadWorld } from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';
import { acrossWorkers, CollectiveAllReduce, connectGroup } from '@coll/multi-worker';
import { type ClusterDescription, ClusterSpec } from '@coll/rendezvous/internal';
import { CountedGroups } from '../choice/strategy-log.js';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import { ourEngines } from '../host.js';
import { loadPlugin, type ReplicaEnvironment } from '../strategies/plugin-environment.js';
import type { ThreadStart } from '../threads/thread-messages.js';
import { MultiWorkerMirroredStrategy } from './multi-worker-mirrored-strategy.js';
import { openWorkerGroup } from './open-worker-group.js';
import { openGroupOf } from './plugin-groups.js';
import type { WorkerSetup } from './worker-messages.js';

/**
 * Opens the environment of a replica in a thread, if there are several workers. The first replica
 * of each worker opens a group with the other workers, and handles all communication with them.
 */
export async function openWorkerEnvironment(start: ThreadStart, setup: WorkerSetup): Promise<ReplicaEnvironment> {
  const { devices, replica, group: threads } = start;
  const { groupConfig, task, nccl } = setup;
  if (nccl && !registry.has('nccl')) registry.register(await loadPlugin(nccl));
  const { engine } = resolveEngine(threads.engine, ourEngines);
  const group = replica === 0 && groupConfig ? await openGroup(groupConfig) : undefined;
  const options = new CommunicationOptions(setup.communication);
  const strategy = new MultiWorkerMirroredStrategy({
    clusterResolver: new SimpleClusterResolver(new ClusterSpec(setup.cluster), task),
    communicationOptions: options,
    devices,
    engine: threads.engine,
    group,
  });
  const counts = new CountedGroups();
  const ops = await opsOf(start, setup, { engine, counts, group });
  const close = async () => {
    await strategy.close();
    await ops.close();
    await group?.close();
  };
  const fail = (error: unknown) => group?.fail(error instanceof Error ? error : new Error(messageOf(error)));
  return { strategy, counts, ops, defaults: options, fail, [Symbol.asyncDispose]: close };
}

function openGroup(config: NonNullable<WorkerSetup['groupConfig']>): Promise<ProcessGroup> {
  return 'plugin' in config ? openGroupOf(config) : openWorkerGroup(config);
}

/** What the ops of a replica are made of. */
interface OpsParts {
  readonly engine: Engine;
  readonly counts: CountedGroups;
  readonly group: ProcessGroup | undefined;
}

/** Opens the ops of the replica: those of the requested plug-in, or `CollectiveAllReduce`. */
async function opsOf(
  start: ThreadStart,
  { groupConfig, cluster, communication, crossDeviceOps }: WorkerSetup,
  { engine, counts, group }: OpsParts,
): Promise<CrossDeviceOps> {
  const { devices, replica, firstReplica } = start;
  const options = new CommunicationOptions(communication);
  const plugin = crossDeviceOps && (await loadPlugin(crossDeviceOps));
  const create = (world: World) => plugin?.create(crossDeviceOps?.options as never, world);
  const groupSize = devices.length * (groupConfig?.size ?? 1);
  const joinCollective = async (own: readonly string[], world?: World) => {
    const ops = new CollectiveAllReduce(own, groupSize, { options, group: world ? undefined : group }, world);
    await ops.join();
    return ops;
  };
  if (group && devices.length === 1) {
    if (!plugin) return joinCollective(devices);
    return acrossWorkers((world) => create(world) as CrossDeviceOps, { group, devices, options });
  }
  const own = [devices[replica] as string];
  const threads = counts.counted(threadWorld(start.group, replica, devices, engine));
  if (!groupConfig) return create(threads) ?? joinCollective(own, threads);
  const world: World = {
    ...threads,
    devices: workerNames(cluster).flatMap((worker) => devices.map((device) => onWorker(device, worker))),
    localRanks: [firstReplica + replica],
    communicator(algorithm, wrap = (communicator) => communicator) {
      const within = threads.communicator(plugin ? algorithm : directAlgorithm());
      const across = group && wrap(connectGroup(group, algorithm));
      return rankOfWorker(within, { workers: groupConfig.size, worker: groupConfig.rank, across });
    },
  };
  return create(world) ?? joinCollective(own, world);
}

/** The name prefixes of a cluster's workers, the chief first. */
function workerNames(cluster: ClusterDescription): readonly string[] {
  const spec = new ClusterSpec(cluster);
  const jobs = ['chief', 'worker'].filter((job) => spec.jobs.includes(job));
  return jobs.flatMap((job) => spec.taskIndices(job).map((task) => `/job:${job}/replica:0/task:${task}`));
}

function onWorker(device: string, worker: string): string {
  const { type, index } = DeviceSpec.fromString(device).fields;
  return canonicalize(`${type}:${index}`, worker);
}
