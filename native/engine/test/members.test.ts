import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openMembers } from '@coll/core';
import { native } from '@coll/native';
import '@coll/native/register';
import { ringAlgorithm } from '@coll/ring';
import { memberScenarios, memberSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';

describe('members of the native engine', () => {
  memberSuite({
    test: it,
    name: 'in one thread',
    sizes: [1, 2, 5],
    canBlock: false,
    run: async (scenario, size) => {
      const members = openMembers({ size, algorithm: ringAlgorithm(), engine: 'native' });
      const results = await Promise.all(members.map(memberScenarios[scenario]));
      await members[0]?.close();
      return results;
    },
  });

  const threads: Worker[] = [];
  afterAll(async () => {
    for (const thread of threads) thread.postMessage('end');
    await Promise.all(threads.map((thread) => once(thread, 'exit')));
  });
  memberSuite({
    test: it,
    name: 'in threads',
    sizes: [1, 2, 3],
    run: async (scenario, size) => {
      const group = native.createGroup({ size, spins: 0 });
      return Promise.all(
        Array.from({ length: size }, async (_, rank) => {
          threads[rank] ??= new Worker(new URL('./fixtures/member-thread.js', import.meta.url));
          threads[rank].postMessage({ group, rank, scenario });
          const [result] = await once(threads[rank], 'message');
          return result;
        }),
      );
    },
  });
});
