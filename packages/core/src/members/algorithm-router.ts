import type { Communicator } from '../collectives/communicator.js';
import type { ProcessGroup } from '../collectives/process-group.js';
import type { Algorithm } from '../schedule/schedule.js';

type Router = (group: ProcessGroup) => Communicator;

const routers = new WeakMap<Algorithm, Router>();

/**
 * Lets an algorithm stand for several: groups of processes execute it with the communicator that
 * `router` makes.
 */
export function routeAlgorithm(algorithm: Algorithm, router: Router): void {
  routers.set(algorithm, router);
}

/**
 * A communicator of a group that executes an algorithm, or that chooses between the algorithms it
 * stands for.
 */
export function communicatorFor(group: ProcessGroup, algorithm: Algorithm): Communicator {
  return routers.get(algorithm)?.(group) ?? group.communicator(algorithm);
}
