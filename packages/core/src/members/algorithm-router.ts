import type { Communicator } from '../runtime/communicator.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { ProcessGroup } from './process-group.js';

type Router = (group: ProcessGroup) => Communicator;

const routers = new WeakMap<Algorithm, Router>();

/**
 * Makes groups of processes execute `algorithm` with the communicator that `router` returns. The
 * router can thus choose between several algorithms.
 */
export function routeAlgorithm(algorithm: Algorithm, router: Router): void {
  routers.set(algorithm, router);
}

/**
 * The communicator that executes an algorithm in a group. If the algorithm has a router, the router
 * makes the communicator, unless the group executes collectives by algorithms of its own.
 */
export function communicatorFor(group: ProcessGroup, algorithm: Algorithm): Communicator {
  const router = group.executesBy === undefined ? routers.get(algorithm) : undefined;
  return router?.(group) ?? group.communicator(algorithm);
}
