import type { World, WrapCommunicator } from '../engines/world.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import { withFallbackTransfers } from '../schedule/with-fallback-transfers.js';
import type { ReplicaRouting } from './replica-collectives.js';
import { ReplicaGroup, type ReplicaGroupOptions } from './replica-group.js';

/**
 * The algorithm and routing of replicas in separate threads or processes; must be the same on all
 * of them.
 */
export interface ReplicaPlan extends ReplicaRouting {
  readonly algorithm: Algorithm;
  /** Wraps the communicator `engine`. The wrapper must close `engine`. Default: `engine` itself. */
  communicator?(size: number, engine: Communicator): Communicator;
  /** Wraps the communicator between workers (processes), as in `AllReduceSetup`. */
  readonly across?: WrapCommunicator | undefined;
}

/** The communicator of the only local replica of a world. */
export function replicaCommunicator(world: World, plan: ReplicaPlan): Communicator {
  // Sparse values and initial values of variables need collectives without arithmetic, which an
  // algorithm may not have.
  const engine = world.communicator(withFallbackTransfers(plan.algorithm), plan.across);
  return plan.communicator?.(world.devices.length, engine) ?? engine;
}

/** The replica group of a world's local replicas. `communicator` is given if there is only one. */
export function replicaGroupOf(
  ops: ReplicaGroupOptions['ops'],
  world: World,
  communicator: Communicator | undefined,
): ReplicaGroup {
  return new ReplicaGroup({
    ops,
    size: world.devices.length,
    ids: world.localRanks,
    devices: world.localRanks.map((rank) => world.devices[rank] as string),
    communicator,
    fail: world.fail && ((error) => world.fail?.(error.message)),
  });
}
