import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { joinThreadGroup, resolveEngine, type ThreadGroup } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import '@coll/native/register';
import { describe, expect, it } from 'vitest';
import type { EndingTask } from './fixtures/ending-thread.js';

const program = new URL('./fixtures/ending-thread.js', import.meta.url);

/** Starts a thread, which is terminated if it asks for that. */
function start(task: EndingTask): Worker {
  const thread = new Worker(program, { workerData: task });
  if (task.ending) thread.on('error', () => {});
  thread.on('message', (message) => {
    if (message === 'terminate') void thread.terminate();
  });
  return thread;
}

/** The next message of a thread. */
async function messageOf(thread: Worker): Promise<unknown> {
  const [message] = (await once(thread, 'message')) as unknown[];
  return message;
}

const lost = (rank: number) => ({
  name: 'UnavailableError',
  code: 'ERR_COLL_PEER_FAILED',
  rank,
  ranks: [rank],
  message: expect.stringMatching(
    `: rank ${rank}( .rank ${rank} of the whole group.)? was lost: its thread ended before it closed the group$`,
  ),
});

describe.each(['js', 'wasm', 'native'] as const)('a thread that ends as a member of a group (%s)', (engine) => {
  const groupOf = (size: number) => resolveEngine(engine).engine.createGroup({ size, spins: 0 });

  it.each<Pick<EndingTask, 'ending' | 'operation'>>([
    { ending: 'exit' },
    { ending: 'return' },
    { ending: 'throw' },
    { ending: 'terminate' },
    { ending: 'terminate', operation: 'runSync' },
    { ending: 'exit', operation: 'receive' },
    { ending: 'exit', operation: 'split' },
  ])('fails the group for a thread that waits: %j', async ({ ending, operation }) => {
    const group = groupOf(2);
    start({ group, rank: 1, ending });
    expect(await messageOf(start({ group, rank: 0, operation }))).toMatchObject(lost(1));
  });

  it('fails the group for the creator, if the creator is a member that waits', async () => {
    const group = groupOf(2);
    start({ group, rank: 1, ending: 'exit' });
    const member = joinThreadGroup(group, { rank: 0, algorithm: directAlgorithm() });
    await member.allReduce('sum', new Float32Array(1));
    await expect(member.barrier()).rejects.toMatchObject(lost(1));
    await member.close();
  });

  it.each([0, 1])('fails a group that the thread of rank 0 has created: rank %i', async (culprit) => {
    const tasks = [0, 1].map((rank) => (rank === culprit ? { rank, ending: 'terminate' as const } : { rank }));
    const first = start({ ...tasks[0], group: engine, rank: 0 });
    const group = (await messageOf(first)) as ThreadGroup;
    const second = start({ ...tasks[1], group, rank: 1 });
    expect(await messageOf(culprit === 0 ? second : first)).toMatchObject(lost(culprit));
  });

  it.each([0, 2])('fails a group that was split from another group: rank %i', async (culprit) => {
    const group = groupOf(3);
    const others = [0, 1, 2].filter((rank) => rank !== culprit);
    const waiting = others.map((rank) => messageOf(start({ group, rank, isSplit: true })));
    start({ group, rank: culprit, isSplit: true, ending: 'exit' });
    const expected = { ...lost(culprit), wholeRanks: [culprit] };
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject(expected);
  });

  it('has left the group if the thread has closed the group before', async () => {
    const group = groupOf(2);
    start({ group, rank: 1, ending: 'close' });
    const left = { code: 'ERR_COLL_CLOSED', rank: 1, message: 'barrier: rank 1 has left the group' };
    expect(await messageOf(start({ group, rank: 0 }))).toMatchObject(left);
  });
});
