import { CrossDeviceOps } from './cross-device-ops.js';

const hooks = ['reduceImplementation', 'batchReduceImplementation'] as const;

/**
 * The method of TensorFlow that a class overrides to combine the values it is passed, without
 * another all-reduce for values that are not all local; undefined if there is none.
 */
export function overriddenReduce(ops: CrossDeviceOps): string | undefined {
  let found: string | undefined;
  for (let part: object = ops; part !== null && part !== CrossDeviceOps.prototype; part = Object.getPrototypeOf(part)) {
    // A class that describes its all-reduce knows where the values are; its subclasses may not.
    if (Object.hasOwn(part, 'denseWork') || Object.hasOwn(part, 'perform')) return found;
    found = hooks.find((name) => Object.hasOwn(part, name)) ?? found;
  }
  return found;
}

/** The number of workers whose values ops combine, as `workerCount` states. */
export function workerCountOf(ops: CrossDeviceOps): number {
  return ops['workerCount'];
}
