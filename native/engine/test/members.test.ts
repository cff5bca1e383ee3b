import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openMembers } from '@coll/core';
import { native } from '@coll/native';
import '@coll/native/register';
import { ringAlgorithm } from '@coll/ring';
import { memberScenarios, memberSuite } from '@coll/testing';
import { describe, it } from 'vitest';

describe('members of the native engine', () => {
  memberSuite({
    test: it,
    name: 'in one thread',
    sizes: [1, 2, 5],
    run: async (scenario, size) => {
      const members = openMembers({ size, algorithm: ringAlgorithm(), engine: 'native' });
      const results = await Promise.all(members.map(memberScenarios[scenario]));
      await members[0]?.close();
      return results;
    },
  });

  memberSuite({
    test: it,
    name: 'in threads',
    sizes: [1, 2, 3],
    run: async (scenario, size) => {
      const group = native.createGroup({ size, spins: 0 });
      const program = new URL('./fixtures/member-thread.js', import.meta.url);
      return Promise.all(
        Array.from({ length: size }, async (_, rank) => {
          const thread = new Worker(program, { workerData: { group, rank, scenario } });
          const [[result]] = await Promise.all([once(thread, 'message'), once(thread, 'exit')]);
          return result;
        }),
      );
    },
  });
});
