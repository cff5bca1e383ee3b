import type { Communicator } from '../collectives/communicator.js';
import type { World } from '../plugins/world.js';
import type { Algorithm } from '../schedule/schedule.js';
import { withMoves } from '../schedule/with-moves.js';
import type { ReplicaRouting } from './replica-collectives.js';
import { ReplicaGroup, type ReplicaGroupOptions } from './replica-group.js';

/** What replicas run, each in a thread or process of its own: the same on all of them. */
export interface ReplicaPlay extends ReplicaRouting {
  readonly algorithm: Algorithm;
  /** Puts a communicator of one's own in front of the engine's, which it closes with itself. */
  communicator?(size: number, engine: Communicator): Communicator;
}

/** The communicator of the one replica of a world that is here. */
export function replicaCommunicator(world: World, play: ReplicaPlay): Communicator {
  // Sparse values and first values of variables are moved, also by an algorithm that has an all-reduce only.
  const engine = world.communicator(withMoves(play.algorithm));
  return play.communicator?.(world.devices.length, engine) ?? engine;
}

/** The group of the replicas of a world that are here; `communicator` is that of the only one. */
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
