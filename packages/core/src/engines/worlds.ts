import { type ProcessGroup, requireGivenGroup } from '../members/process-group.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Engine, EngineResolution, ThreadGroup } from '../runtime/engine.js';
import { UnavailableError, ValueError } from '../support/errors.js';
import { requireList } from '../support/requirements.js';
import { failThreadGroup, requireGroup } from '../threads/thread-group.js';
import { resolveEngine } from './engines.js';
import type { World } from './world.js';

/**
 * A `World` with all devices in this thread, under a single controller. `engine` defaults to the
 * fastest engine that works here.
 * @throws ValueError unless the devices are a list
 *
 * @example
 * ```ts
 * import { jsEngine } from '@coll/core';
 * import { portableWorld } from '@coll/core/plugin';
 * import { DirectAllReduce } from '@coll/direct';
 *
 * const world = portableWorld(['cpu:0', 'cpu:1'], jsEngine);
 * await using ops = new DirectAllReduce({}, world);
 * const ones = new Int32Array([1]);
 * const sums = await Promise.all([0, 1].map((replica) => ops.allReduce('SUM', ones, replica)));
 * console.log(sums.length, world.engine); // 2 js
 * ```
 */
export function portableWorld(devices: readonly string[], engine?: Engine): World {
  requireList(devices, 'devices');
  const resolution = resolved(engine);
  return {
    devices,
    localRanks: devices.map((_, rank) => rank),
    engine: resolution.engine.name,
    resolution,
    communicator: (algorithm) => resolution.engine.communicator(devices.length, algorithm),
  };
}

/**
 * A `World` for one device of a group whose other devices live in other threads. `engine` defaults
 * to the registered or built-in engine with the name of the engine that made the group.
 * @throws ValueError unless `group` is a group of threads and `devices` a list; CollError
 * (ERR_COLL_NO_ENGINE) if no such engine is registered and `engine` is not given
 *
 * @example
 * ```ts
 * import { jsEngine } from '@coll/core';
 * import { threadWorld } from '@coll/core/plugin';
 *
 * const group = jsEngine.createGroup({ size: 2 });
 * // Each thread gets the group in its `workerData`, and makes the world of its rank:
 * const world = threadWorld(group, 1, ['cpu:0', 'cpu:1']);
 * console.log(world.localRanks, world.engine); // [ 1 ] js
 * ```
 */
export function threadWorld(group: ThreadGroup, rank: number, devices: readonly string[], engine?: Engine): World {
  requireGroup(group);
  requireList(devices, 'devices');
  const resolution = engine ? resolved(engine) : resolveEngine(group.engine);
  return {
    devices,
    localRanks: [rank],
    engine: resolution.engine.name,
    resolution,
    communicator: (algorithm) => resolution.engine.join(group, { rank, algorithm }),
    fail: (message) => failThreadGroup(group, rank, `failed: ${message}`),
  };
}

/**
 * A `World` for one device of a group of processes with one device each; `devices` is in rank
 * order.
 * @throws ValueError unless `group` is a process group and `devices` has one device per process
 *
 * @example
 * ```ts
 * import { processWorld } from '@coll/core/plugin';
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * const jobKey = TcpStoreServer.newKey();
 * const store = new MemoryStore();
 * await using group = await openProcessGroup({ store, rank: 0, size: 1, jobKey });
 * const world = processWorld(group, ['cpu:0']);
 * console.log(world.localRanks, world.engine); // [ 0 ] native
 * ```
 */
export function processWorld(group: ProcessGroup, devices: readonly string[]): World {
  requireGivenGroup(group);
  requireList(devices, 'devices');
  if (devices.length !== group.size) {
    const message = `a group of ${group.size} processes needs one device per process, got ${devices.length}: [${devices.join(', ')}]`;
    throw new ValueError('ERR_COLL_DEVICE', message);
  }
  return {
    devices,
    localRanks: [group.rank],
    engine: 'native',
    communicator: (algorithm, across = same) => across(group.communicator(algorithm)),
    fail: (message) => group.fail(new UnavailableError('ERR_COLL_PEER_FAILED', message)),
    failure: () => group.failure?.(),
  };
}

function same(communicator: Communicator): Communicator {
  return communicator;
}

function resolved(engine: Engine | undefined): EngineResolution {
  return engine ? { engine, candidates: [{ name: engine.name }] } : resolveEngine();
}
