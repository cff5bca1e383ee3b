import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type EngineName, openMembers, resolveEngine } from '@coll/core';
import { ringAlgorithm } from '@coll/ring';
import { memberScenarios, memberSuite } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';

const program = new URL('./fixtures/member-thread.js', import.meta.url);
const engines: readonly EngineName[] = ['js', 'wasm'];

describe.each(engines)('members of %s', (engine) => {
  memberSuite({
    test: it,
    name: 'in one thread',
    sizes: [1, 2, 5],
    canBlock: false,
    run: async (scenario, size) => {
      const members = openMembers({ size, algorithm: ringAlgorithm(), engine });
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
      const group = resolveEngine(engine).engine.createGroup({ size, spins: 0 });
      return Promise.all(
        Array.from({ length: size }, async (_, rank) => {
          threads[rank] ??= new Worker(program);
          threads[rank].postMessage({ group, rank, scenario });
          const [result] = await once(threads[rank], 'message');
          return result;
        }),
      );
    },
  });
});
