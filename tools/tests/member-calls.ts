import { type Member, openMembers } from '@coll/core';
import { ringAlgorithm } from '@coll/ring';

const member = () => openMembers({ size: 2, algorithm: ringAlgorithm() })[0] as Member;
const value = new Float32Array(2);

/** All calls of a member that take options, by the owner of these. */
export const memberCalls: Readonly<Record<string, Readonly<Record<string, (options: never) => unknown>>>> = {
  'a collective of a member': {
    allReduce: (options) => member().allReduce('sum', value, options),
    reduce: (options) => member().reduce('sum', 0, value, options),
    broadcast: (options) => member().broadcast(0, value, options),
    allGather: (options) => member().allGather(value, options),
    gather: (options) => member().gather(0, value, options),
    reduceScatter: (options) => member().reduceScatter('sum', value, options),
    allToAll: (options) => member().allToAll(value, options),
  },
  'a call of a member': {
    scatter: (options) => member().scatter(0, value, value, options),
    barrier: (options) => member().barrier(options),
    send: (options) => member().send(1, value, options),
    receive: (options) => member().receive(1, value, options),
    split: (options) => member().split(0, 0, options),
  },
};
