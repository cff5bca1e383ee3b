import { jsEngine, tensor } from '@coll/core';
import { SharedBarrier } from '@coll/core/internal';
import { direct, directAlgorithm } from '@coll/direct';
import { hierarchicalCopy, hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { native } from '@coll/native';
import { reductionToOne, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ring, ringAlgorithm } from '@coll/ring';
import { executorSuite, threadRanks } from '@coll/testing';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { drawnSuite } from '../../../tools/tests/drawn.ts';

const threads = threadRanks({ engine: native, engineModule: new URL('../src/register.ts', import.meta.url).href });
afterAll(() => threads.close());

executorSuite(
  drawnSuite({
    test: it,
    describe,
    name: 'NativeThreadCommunicator',
    membersOf: (size) => size,
    open: threads.open,
    algorithms: [
      { algorithm: directAlgorithm(), source: { module: direct.module, export: 'direct' } },
      { algorithm: ringAlgorithm(), source: { module: ring.module, export: 'ring' } },
      { algorithm: reductionToOneAlgorithm(), source: { module: reductionToOne.module, export: 'reductionToOne' } },
      {
        algorithm: hierarchicalCopyAlgorithm(),
        source: { module: hierarchicalCopy.module, export: 'hierarchicalCopy' },
      },
    ],
    ranks: [1, 2, 3, 4, 7],
  }),
);

it('the native engine refuses two ranks in one thread', () => {
  const group = native.createGroup({ size: 2 });
  native.join(group, { rank: 0, algorithm: directAlgorithm() });
  expect(() => native.join(group, { rank: 1, algorithm: directAlgorithm() })).toThrow(
    /rank 1 must join from another thread than rank 0/,
  );
});

it('the native engine refuses a group of another engine', () => {
  const group = jsEngine.createGroup({ size: 2 });
  expect(() => native.join(group, { rank: 0, algorithm: directAlgorithm() })).toThrow(/created by the js engine/);
});

it.each(['run', 'runSync'] as const)('the last rank to arrive wakes a waiting event loop, with %s', async (method) => {
  const group = native.createGroup({ size: 2 });
  const communicator = native.join(group, { rank: 0, algorithm: directAlgorithm() });
  const barrier = new SharedBarrier(group.control, 2, 0);
  const wake = vi.spyOn(SharedBarrier.prototype, 'wake');
  const slept = vi.spyOn(Atomics, 'waitAsync');
  // As rank 1 does.
  const count = barrier.advance(1);
  const waiting = barrier.wait(count, { rank: 1, operation: 'all-reduce sum', deadline: undefined });
  const sleeping = slept.mock.results[0]?.value as { value: Promise<string> };
  slept.mockRestore();
  const call = [{ kind: 'all-reduce', op: 'sum' }, [tensor([1])], [tensor([0])], { timeoutSeconds: 0.1 }] as const;
  const failed = expect((async () => communicator[method](...call))()).rejects.toThrow('rank 1 arrived, but is busy');
  expect(await sleeping.value).toBe('ok');
  await waiting;
  // What wakes everybody at the end of a group comes later.
  expect(wake).toHaveBeenCalledExactlyOnceWith(0);
  await failed;
  wake.mockRestore();
  await communicator.close();
});
