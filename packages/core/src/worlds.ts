import type { Engine } from './engine.js';
import { type EngineResolution, resolveEngine } from './engines.js';
import type { World } from './plugins/plugin.js';
import { failThreadGroup, type ThreadGroup } from './threads/thread-group.js';

/** All devices in this thread, under one controller. Default: the fastest engine that works here. */
export function portableWorld(devices: readonly string[], engine?: Engine): World {
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
 * One device of a group whose others live in other threads, played by the engine that made the group.
 * @throws CollError where that engine is not known here; pass it, or register it
 */
export function threadWorld(group: ThreadGroup, rank: number, devices: readonly string[], engine?: Engine): World {
  const resolution = engine ? resolved(engine) : resolveEngine(group.engine);
  return {
    devices,
    localRanks: [rank],
    engine: resolution.engine.name,
    resolution,
    communicator: (algorithm) => resolution.engine.join(group, { rank, algorithm }),
    fail: (message) => failThreadGroup(group, rank, message),
  };
}

function resolved(engine: Engine | undefined): EngineResolution {
  return engine ? { engine, candidates: [{ name: engine.name }] } : resolveEngine();
}
