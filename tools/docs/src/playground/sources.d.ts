/** The source files of algorithms, as paths in the repository. This module imports nothing: the configuration of the site loads it. */
export declare const sources: {
  readonly ring: 'packages/ring/src/ring-algorithm.ts';
  readonly direct: 'packages/direct/src/direct-algorithm.ts';
  readonly reductionToOne: 'packages/reduction-to-one/src/reduction-to-one-algorithm.ts';
  readonly hierarchicalCopy: 'packages/hierarchical-copy/src/hierarchical-copy-algorithm.ts';
  readonly rechd: 'packages/multi-worker/src/recursive-halving-doubling-algorithm.ts';
  readonly binaryTree: 'packages/multi-worker/src/binary-tree-algorithm.ts';
  readonly hierarchical: 'packages/multi-worker/src/hierarchical-algorithm.ts';
  readonly shuffle: 'packages/multi-worker/src/shuffle-algorithm.ts';
  readonly spec: 'packages/multi-worker/src/compat/spec-algorithm.ts';
  readonly linear: 'packages/core/src/schedule/linear.ts';
};
//# sourceMappingURL=sources.d.ts.map
