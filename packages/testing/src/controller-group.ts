import type { Communicator } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import { executeCalls } from './execute-calls.js';
import { type GroupMember, type OpenGroup, TestGroup } from './group.js';
import { treeAlgorithm } from './tree-algorithm.js';

/**
 * Creates one communicator for all ranks, or several communicators in this thread, each for some of
 * the ranks. An executor that has its own algorithm ignores `algorithm`.
 */
export type MakeCommunicator = (
  algorithm: Algorithm,
  size: number,
) => Communicator | readonly Communicator[] | Promise<Communicator | readonly Communicator[]>;

/**
 * Opens groups whose ranks are all in this thread. The suites do not call `runSync` on several
 * communicators of one thread, because the first call would block the others.
 *
 * @example
 * ```ts
 * import { jsEngine, tensor } from '@coll/core';
 * import { controllerGroup } from '@coll/testing';
 *
 * const open = controllerGroup((algorithm, size) => jsEngine.communicator(size, algorithm));
 * await using group = await open(undefined, 2);
 * const buffers = [tensor(new Float32Array([1])), tensor(new Float32Array([2]))];
 * await group.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(1) [ 3 ]
 * ```
 */
export function controllerGroup(makeCommunicator: MakeCommunicator): OpenGroup {
  return async (algorithm, size) => {
    const made = await makeCommunicator(algorithm?.algorithm ?? treeAlgorithm, size);
    const communicators = Array.isArray(made) ? (made as readonly Communicator[]) : [made as Communicator];
    return new TestGroup({ members: communicators.map(memberOf), canBlock: communicators.length === 1 });
  };
}

function memberOf(communicator: Communicator): GroupMember {
  return {
    localRanks: communicator.localRanks,
    refuses: async (collective, dtype) => communicator.refuses(collective, dtype),
    execute: (calls) => executeCalls(communicator, calls),
    close: () => communicator.close(),
  };
}
