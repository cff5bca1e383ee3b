import type { ProcessGroup } from '@coll/core';
import { OneByOne } from '@coll/core/plugin';

const turns = new WeakMap<ProcessGroup, OneByOne>();

/**
 * Begins a call once those that were made before it for the same group have ended. A call may be several collectives one after the other: calls side by
 * side would meet the group in an order that depends on how fast each member is.
 */
export function inTurn<Result>(group: ProcessGroup, call: () => Promise<Result>): Promise<Result> {
  const calls = turns.get(group) ?? new OneByOne();
  turns.set(group, calls);
  return calls.run(call);
}
