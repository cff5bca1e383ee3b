import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { hierarchicalAlgorithm } from './hierarchical-algorithm.js';
import { recursiveHalvingDoublingAlgorithm } from './recursive-halving-doubling-algorithm.js';

// More blocks overlap the levels better, but have more rounds and messages.
const blockCounts = [1, 4];

/**
 * The candidate algorithms for all-reduces of several hosts with several ranks each: within each
 * host first, then between the hosts, at once or in blocks that follow each other. None if
 * `ranksPerHost` is undefined.
 */
export function twoLevelAlgorithms(ranks: number, ranksPerHost: number | undefined): readonly Algorithm[] {
  if (ranksPerHost === undefined) return [];
  const workers = ranks / ranksPerHost;
  const between = [directAlgorithm(), recursiveHalvingDoublingAlgorithm(), ringAlgorithm()];
  return between
    .filter(({ refuses }) => refuses?.({ kind: 'all-reduce', op: 'sum' }, workers) === undefined)
    .flatMap((across) =>
      blockCounts.map((blocks) => hierarchicalAlgorithm({ workers, within: directAlgorithm(), across, blocks })),
    );
}
