import {
  type EngineRequest,
  type EngineResolution,
  hierarchical,
  type ProcessGroup,
  resolveEngine,
  UnavailableError,
  type World,
} from '@coll/core';
import { portableWorld, type WrapCommunicator } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { connectGroup } from './auto-communicator.js';
import type { CollectiveSetting } from './collective-options.js';
import { inTask, joined, type OtherWorkers } from './worker-all-reduce.js';

/**
 * The connection to the other workers, with which a collective executes the algorithm; undefined if
 * there is only one worker. `wrap` wraps the communicator between workers.
 */
export function othersOf(
  { group, devices, groupKey, count }: CollectiveSetting,
  algorithm: Algorithm,
  wrap: WrapCommunicator = (communicator) => communicator,
): OtherWorkers | undefined {
  if (!group || !devices) return undefined;
  return {
    group,
    devices,
    groupKey,
    count,
    gathering: algorithm,
    // One two-level communicator keeps the order of concurrent collectives. Several of them together do not.
    keepsOrder: true,
    connect(engine) {
      const across = wrap(connectGroup(group, algorithm));
      return devices.length === 1 ? across : hierarchical([engine], across);
    },
  };
}

/**
 * Makes a world of this worker's devices, all in this thread. Undefined if each worker has a single
 * device, because the process group then connects these devices.
 */
export function worldHere(
  devices: readonly string[],
  engine: EngineRequest | undefined,
  group: ProcessGroup | undefined,
): World | undefined {
  if (group && devices.length === 1) return undefined;
  const resolution = resolveEngine(engine);
  return { ...portableWorld(devices, resolution.engine), resolution };
}

/** Makes a world of the devices of all workers. The devices of this worker are its local ranks. */
export function worldOfAll(setting: CollectiveSetting, resolution: EngineResolution): World {
  const { group, devices = [] } = setting;
  const { rank, size } = group as NonNullable<typeof group>;
  const { engine } = resolution;
  return {
    devices: Array.from({ length: size }, (_, worker) => devices.map((device) => inTask(device, worker))).flat(),
    localRanks: devices.map((_, place) => rank * devices.length + place),
    engine: engine.name,
    resolution,
    communicator(algorithm, wrap) {
      const others = othersOf(setting, algorithm, wrap) as OtherWorkers;
      return joined(others, engine.communicator(devices.length, algorithm));
    },
    fail: (message) => group?.fail(new UnavailableError('ERR_COLL_PEER_FAILED', message)),
    failure: () => group?.failure?.(),
  };
}
