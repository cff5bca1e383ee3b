/** The source files of algorithms, as paths in the repository. This module imports nothing: the configuration of the site loads it. */
export const sources = {
  ring: 'packages/ring/src/ring-algorithm.ts',
  direct: 'packages/direct/src/direct-algorithm.ts',
  reductionToOne: 'packages/reduction-to-one/src/reduction-to-one-algorithm.ts',
  hierarchicalCopy: 'packages/hierarchical-copy/src/hierarchical-copy-algorithm.ts',
  rechd: 'packages/multi-worker/src/recursive-halving-doubling-algorithm.ts',
  binaryTree: 'packages/multi-worker/src/binary-tree-algorithm.ts',
  hierarchical: 'packages/multi-worker/src/hierarchical-algorithm.ts',
  shuffle: 'packages/multi-worker/src/shuffle-algorithm.ts',
  spec: 'packages/multi-worker/src/compat/spec-algorithm.ts',
  linear: 'packages/core/src/schedule/linear.ts',
} as const;
