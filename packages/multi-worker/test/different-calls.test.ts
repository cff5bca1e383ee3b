import { type Collective, tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { binaryTreeAlgorithm } from '../src/binary-tree-algorithm.js';
import { recursiveHalvingDoublingAlgorithm } from '../src/recursive-halving-doubling-algorithm.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
// More than small all-reduces, which all ranks exchange with all others.
const length = 20_000;

/** Opens a group of this process. Every member calls `sum` except the last, which calls something else. */
async function callsOf(
  size: number,
  algorithm: ReturnType<typeof ringAlgorithm>,
  other: Collective,
  itsLength: number,
) {
  const shared = { store: new MemoryStore(), jobKey: TcpStoreServer.newKey(), size, transport: 'tcp' } as const;
  const patience = { timeoutSeconds: 120, heartbeatSeconds: 60 };
  const groups = await Promise.all(
    Array.from({ length: size }, (_, rank) => openProcessGroup({ ...shared, ...patience, rank })),
  );
  const outputs = groups.map(({ rank }) => tensor(new Float32Array(rank === size - 1 ? itsLength : length)));
  const calls = groups.map((group, rank) => {
    const output = outputs[rank] as (typeof outputs)[number];
    const input = tensor(new Float32Array(output.data.length).fill(1));
    const collective = rank === size - 1 ? other : sum;
    return group.communicator(algorithm).run(collective, [input], [output], { timeoutSeconds: 100 });
  });
  const begin = performance.now();
  const outcomes = await Promise.allSettled(calls);
  const seconds = (performance.now() - begin) / 1000;
  await Promise.all(groups.map((group) => group.close()));
  return { outcomes, outputs, seconds };
}

const algorithms = [directAlgorithm(), ringAlgorithm(), recursiveHalvingDoublingAlgorithm(), binaryTreeAlgorithm()];

describe.each(algorithms)('over TCP, members of a group with different calls of $name', (algorithm) => {
  const sizes = algorithm.name === 'recursive-halving-doubling' ? [2, 4, 8] : [2, 3, 4, 8];

  it.each(sizes)('all get the same error, and no output is written: %i members', async (size) => {
    const differences = [
      ['ERR_COLL_SHAPE_MISMATCH', sum, length + 1],
      ['ERR_COLL_SHAPE_MISMATCH', sum, 0],
      ['ERR_COLL_MISMATCH', { kind: 'all-reduce', op: 'max' }, length],
      ['ERR_COLL_MISMATCH', { kind: 'broadcast', root: 1 }, length],
    ] as const;
    for (const [code, other, itsLength] of differences) {
      const { outcomes, outputs, seconds } = await callsOf(size, algorithm, other, itsLength);
      const errors = outcomes.map((outcome) => (outcome.status === 'rejected' ? outcome.reason : undefined));
      for (const error of errors) expect(error).toMatchObject({ code, message: errors[0]?.message });
      if (size > 2) expect(errors[0]).toMatchObject({ rank: size - 1 });
      for (const { data } of outputs) expect(data.every((value) => value === 0)).toBe(true);
      // Long before the timeout and any heartbeat.
      expect(seconds).toBeLessThan(50);
    }
  });
});
