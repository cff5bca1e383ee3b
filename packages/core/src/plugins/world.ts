import type { Communicator } from '../collectives/communicator.js';
import type { EngineResolution } from '../engines/engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import { type CollError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';

/** The devices of a group, who of them is here, and the engine that plays schedules among them. */
export interface World {
  /** One a rank, in rank order. */
  readonly devices: readonly string[];
  /** The ranks whose buffers this caller hands in: all of them, one, or, of several processes with as many each, those of this one. */
  readonly localRanks: readonly number[];
  /** What plays the schedules, for `explain()`: `native`, `wasm`, `js`, or a name of its own. */
  readonly engine: string;
  /** How that engine was chosen; it also serves groups of other sizes whose ranks are all here. */
  readonly resolution?: EngineResolution;
  /** A communicator over all devices that plays this algorithm. */
  communicator(algorithm: Algorithm): Communicator;
  /** Ends the group: whoever waits in it, now or later, gets an UnavailableError with this message. Absent: closing a communicator does. */
  fail?(message: string): void;
  /** Why the group has failed, for who waits for something else meanwhile; undefined while it has not. Absent: only collectives tell. */
  failure?(): CollError | undefined;
}

/** @throws ValueError for what is no world, where there is something */
export function requireWorld(world: unknown): void {
  if (world === undefined) return;
  const { devices, localRanks, communicator } = Object(world) as Partial<World>;
  if (Array.isArray(devices) && Array.isArray(localRanks) && typeof communicator === 'function') return;
  const example = "such as portableWorld(['cpu:0', 'cpu:1'])";
  throw new ValueError('ERR_COLL_VALUE', `world must be a World, ${example}, got ${quote(world)}`);
}
