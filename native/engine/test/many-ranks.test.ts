import { direct, directAlgorithm } from '@coll/direct';
import { native } from '@coll/native';
import { ring, ringAlgorithm } from '@coll/ring';
import { executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, it } from 'vitest';
import { manyRanks } from '../../../tools/tests/drawn.ts';

const threads = threadRanks({ engine: native, engineModule: new URL('../src/register.ts', import.meta.url).href });
afterAll(() => threads.close());

executorSuite({
  test: it,
  describe,
  name: 'NativeThreadCommunicator',
  membersOf: (size) => size,
  open: threads.open,
  algorithms: [
    { algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } },
    { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
  ],
  ranks: manyRanks(),
});
