import type { Member } from '@coll/core';

/** More than the system keeps for a connection. */
export const manyElements = 300_000;

const own = ({ rank }: Member, length = 4) => new Int32Array(length).fill(rank + 1);
const list = (value: ArrayLike<number> | undefined) => value && [...Array.prototype.slice.call(value, -4)];

/** One call of every verb; the result of each is the end of what the member has afterwards. */
export const lastCalls = {
  allReduce: async (member: Member) => list(await member.allReduce('sum', own(member, manyElements))),
  reduce: async (member: Member) => list(await member.reduce('sum', member.size - 1, own(member))),
  broadcast: async (member: Member) => list(await member.broadcast(0, own(member, manyElements))),
  allGather: async (member: Member) => list(await member.allGather(own(member, 2))),
  gather: async (member: Member) => list(await member.gather(member.size - 1, own(member, 2))),
  scatter: async (member: Member) => {
    const blocks = member.rank === 0 ? new Int32Array(4 * member.size).fill(7) : undefined;
    return list(await member.scatter(0, new Int32Array(4), blocks));
  },
  reduceScatter: async (member: Member) => list(await member.reduceScatter('sum', own(member, 2 * member.size))),
  allToAll: async (member: Member) => list(await member.allToAll(own(member, 2 * member.size))),
  barrier: async (member: Member) => list(await member.barrier().then(() => [])),
  up: (member: Member) => message(member, 0),
  down: (member: Member) => message(member, member.size - 1),
} as const;

export type LastCall = keyof typeof lastCalls;

/** A message from one end of the group to the other. */
async function message(member: Member, from: number): Promise<readonly number[] | undefined> {
  const to = member.size - 1 - from;
  if (member.rank === from) await member.send(to, own(member, manyElements));
  if (member.rank === to) return list(await member.receive(from, new Int32Array(manyElements)));
  return undefined;
}

/** The result of a call on a member of a group of `size`. */
export function expectedOf(call: LastCall, rank: number, size: number): readonly number[] | undefined {
  const isLast = rank === size - 1;
  const sum = (size * (size + 1)) / 2;
  const gathered = [size - 1, size - 1, size, size];
  switch (call) {
    case 'allReduce':
      return [sum, sum, sum, sum];
    case 'reduce':
      return isLast ? [sum, sum, sum, sum] : undefined;
    case 'broadcast':
      return [1, 1, 1, 1];
    case 'gather':
      return isLast ? gathered : undefined;
    case 'allGather':
    case 'allToAll':
      return gathered;
    case 'scatter':
      return [7, 7, 7, 7];
    case 'reduceScatter':
      return [sum, sum];
    case 'barrier':
      return [];
    case 'up':
      return isLast ? [1, 1, 1, 1] : undefined;
    case 'down':
      return rank === 0 ? [size, size, size, size] : undefined;
  }
}
