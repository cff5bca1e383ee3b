import type { ProcessGroup } from '@coll/core';

/** The latest call of each group that has not ended. */
const tails = new WeakMap<ProcessGroup, Promise<void>>();

/**
 * Begins a call once those that were made before it for the same group have ended. A call may be several collectives one after the other: calls side by
 * side would meet the group in an order that depends on how fast each member is.
 */
export function inTurn<Result>(group: ProcessGroup, call: () => Promise<Result>): Promise<Result> {
  const before = tails.get(group);
  const mine = before ? before.then(call) : call();
  const leave = () => {
    if (tails.get(group) === ended) tails.delete(group);
  };
  const ended = mine.then(leave, leave);
  tails.set(group, ended);
  return mine;
}
