import { directAlgorithm } from '@coll/direct';
import { hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';
import { algorithmSuite } from '@coll/testing';
import { describe, it } from 'vitest';
import { treeAlgorithm } from '../src/tree-algorithm.ts';

const named = (name: string) => (_: string, declare: () => void) => describe(name, declare);

algorithmSuite({ test: it, describe: named('ring'), algorithm: ringAlgorithm() });
algorithmSuite({
  test: it,
  describe: named('ring in 2 sub-chunks'),
  algorithm: ringAlgorithm({ subChunks: 2 }),
});
algorithmSuite({
  test: it,
  describe: named('ring in 3 sub-chunks, backwards'),
  algorithm: ringAlgorithm({ subChunks: 3, order: [3, 2, 1, 0] }),
  ranks: [4],
});
algorithmSuite({
  test: it,
  describe: named('ring through 2 workers'),
  algorithm: ringAlgorithm({ workers: 2, subChunks: 2, order: [1, 2, 0] }),
  ranks: [6],
});
algorithmSuite({
  test: it,
  describe: named('ring through 3 workers'),
  algorithm: ringAlgorithm({ workers: 3 }),
  ranks: [3, 6, 9, 33],
});
algorithmSuite({
  test: it,
  describe: named('ring through 8 workers in 2 sub-chunks'),
  algorithm: ringAlgorithm({ workers: 8, subChunks: 2, order: [1, 2, 0] }),
  ranks: [24],
});
algorithmSuite({ test: it, describe: named('direct'), algorithm: directAlgorithm() });
algorithmSuite({ test: it, describe: named('reduction to one'), algorithm: reductionToOneAlgorithm() });
algorithmSuite({
  test: it,
  describe: named('reduction to rank 2'),
  algorithm: reductionToOneAlgorithm({ root: 2 }),
  ranks: [3, 4, 5, 8, 16],
});
algorithmSuite({
  test: it,
  describe: named('hierarchical copy'),
  algorithm: hierarchicalCopyAlgorithm(),
  ranks: Array.from({ length: 16 }, (_, index) => index + 1),
});
algorithmSuite({ test: it, describe: named("the suite's own tree"), algorithm: treeAlgorithm });
