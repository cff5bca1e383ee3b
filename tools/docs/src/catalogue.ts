import type { Algorithm, Collective } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { hierarchicalCopyAlgorithm } from '@coll/hierarchical-copy';
import {
  binaryTreeAlgorithm,
  hierarchicalAlgorithm,
  recursiveHalvingDoublingAlgorithm,
  specAlgorithm,
} from '@coll/multi-worker';
import { reductionToOneAlgorithm } from '@coll/reduction-to-one';
import { ringAlgorithm } from '@coll/ring';

/**
 * An algorithm of the docs. It may depend on the number of workers; if each worker has one rank, that is
 * the number of ranks.
 */
export interface Contender {
  readonly name: string;
  algorithmFor(workers: number): Algorithm;
}

export const ring: Contender = { name: 'ring', algorithmFor: () => ringAlgorithm() };
export const direct: Contender = { name: 'direct', algorithmFor: () => directAlgorithm() };
export const reductionToOne: Contender = { name: 'reduction-to-one', algorithmFor: () => reductionToOneAlgorithm() };
export const hierarchicalCopy: Contender = {
  name: 'hierarchical-copy',
  algorithmFor: () => hierarchicalCopyAlgorithm(),
};
export const rechd: Contender = { name: 'rechd', algorithmFor: () => recursiveHalvingDoublingAlgorithm() };
export const binaryTree: Contender = { name: 'binary-tree', algorithmFor: () => binaryTreeAlgorithm() };
const xring: Contender = { name: 'xring', algorithmFor: (workers) => ringAlgorithm({ workers }) };

/** Reduces by gathering all values on the CPUs of two workers. */
export const pscpu: Contender = {
  name: 'pscpu',
  algorithmFor: (workers) => specAlgorithm({ alg: 'pscpu', shards: 2 }, { workers, gpusPerWorker: 1 }),
};

/** Gathers within each worker, then on the CPUs of all workers. */
export const pscpuPscpu: Contender = {
  name: 'pscpu/pscpu',
  algorithmFor: (workers) => specAlgorithm({ alg: 'pscpu/pscpu', shards: workers }, { workers, gpusPerWorker: 1 }),
};

export const directRing: Contender = {
  name: 'direct/ring',
  algorithmFor: (workers) =>
    hierarchicalAlgorithm({ workers, within: directAlgorithm(), across: ringAlgorithm({ workers }) }),
};

export const directRechd: Contender = {
  name: 'direct/rechd',
  algorithmFor: (workers) =>
    hierarchicalAlgorithm({ workers, within: directAlgorithm(), across: recursiveHalvingDoublingAlgorithm() }),
};

/** How many ranks each worker has, and the algorithms to compare. */
export interface Setting {
  readonly name: 'flat' | 'two-level';
  readonly ranksPerWorker: number;
  readonly contenders: readonly Contender[];
}

/** The settings that the docs price and simulate. */
export const settings: readonly Setting[] = [
  { name: 'flat', ranksPerWorker: 1, contenders: [ring, direct, rechd, pscpu, hierarchicalCopy, reductionToOne] },
  {
    name: 'two-level',
    ranksPerWorker: 8,
    contenders: [xring, directRing, directRechd, pscpuPscpu, direct, rechd, reductionToOne],
  },
];

/** The algorithms that the docs draw and describe, for four ranks. Algorithms that need workers get two of them. */
export const drawn: readonly Contender[] = [
  ring,
  { name: 'xring', algorithmFor: () => ringAlgorithm({ workers: 2, subChunks: 2 }) },
  direct,
  reductionToOne,
  hierarchicalCopy,
  rechd,
  binaryTree,
  pscpu,
  { ...pscpuPscpu, algorithmFor: () => pscpuPscpu.algorithmFor(2) },
  { ...directRing, algorithmFor: () => directRing.algorithmFor(2) },
];

/** The collective that the docs price and draw. */
export const allReduce: Collective = { kind: 'all-reduce', op: 'sum' };

/** An algorithm in a setting, with a number of ranks. */
export interface Case {
  readonly setting: Setting;
  readonly name: string;
  readonly ranks: number;
  readonly algorithm: Algorithm;
}

/** All algorithms of the settings, for each of these numbers of ranks that they support. */
export function* casesAmong(counts: readonly number[]): Iterable<Case> {
  for (const setting of settings) {
    const { ranksPerWorker, contenders } = setting;
    const ranksHere = counts.filter((ranks) => ranks > ranksPerWorker && ranks % ranksPerWorker === 0);
    for (const { name, algorithmFor } of contenders) {
      for (const ranks of ranksHere) {
        const algorithm = algorithmFor(ranks / ranksPerWorker);
        if (algorithm.refuses?.(allReduce, ranks) === undefined) yield { setting, name, ranks, algorithm };
      }
    }
  }
}
