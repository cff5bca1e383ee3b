import type { Communicator } from '../runtime/communicator.js';
import type { EngineResolution } from '../runtime/engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

/** Wraps a communicator. The wrapper closes the communicator and makes its calls in the order of its own calls. */
export type WrapCommunicator = (communicator: Communicator) => Communicator;

/** The devices of a group, the local ranks, and the engine that executes schedules between them. */
export interface World {
  /** The device of each rank, in rank order. */
  readonly devices: readonly string[];
  /**
   * The ranks whose buffers this caller passes: all ranks, a single one, or an equal share per
   * process.
   */
  readonly localRanks: readonly number[];
  /** The engine that executes the schedules, for `explain()`: `native`, `wasm`, `js`, or another name. */
  readonly engine: string;
  /**
   * How the engine was chosen. The engine also serves groups of other sizes whose ranks are all
   * local.
   */
  readonly resolution?: EngineResolution;
  /**
   * A communicator over all devices that executes `algorithm`. If devices belong to several workers
   * (processes), `across` wraps the part between workers.
   */
  communicator(algorithm: Algorithm, across?: WrapCommunicator): Communicator;
  /**
   * Ends the group: current and later waits get an UnavailableError with this message. If the
   * method is missing, closing a communicator ends the group.
   */
  fail?(message: string): void;
  /**
   * The group's failure, for callers that wait outside of collectives; undefined while the group
   * works. If the method is missing, only collectives report failures.
   */
  failure?(): CollError | undefined;
}

/** Whether a world has ranks of other threads or processes. */
export function hasOthers({ localRanks, devices }: World): boolean {
  return localRanks.length < devices.length;
}

/**
 * Checks that a value is a world or undefined.
 * @throws ValueError otherwise
 *
 * @example
 * ```ts
 * import { portableWorld, requireWorld } from '@coll/core/plugin';
 *
 * requireWorld(portableWorld(['cpu:0', 'cpu:1'])); // throws for anything else
 * ```
 */
export function requireWorld(world: unknown): void {
  if (world === undefined) return;
  const { devices, localRanks, communicator } = Object(world) as Partial<World>;
  if (Array.isArray(devices) && Array.isArray(localRanks) && typeof communicator === 'function') return;
  const example = "such as portableWorld(['cpu:0', 'cpu:1'])";
  throw new ValueError('ERR_COLL_VALUE', `world must be a World, ${example}, got ${quote(world)}`);
}
