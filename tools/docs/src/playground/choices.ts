import { type Algorithm, linear } from '@coll/core/schedule';
import { shuffleAlgorithm, specAlgorithm } from '@coll/multi-worker';
import { ringAlgorithm } from '@coll/ring';
import * as catalogue from '../catalogue.ts';
import { sources } from './sources.ts';

/** An algorithm that the playground offers. */
export interface Choice {
  readonly name: string;
  readonly title: string;
  /** The source files of the algorithm, as paths in the repository. */
  readonly sources: readonly string[];
  /** @throws ValueError if the algorithm does not support these workers */
  algorithmFor(workers: number, ranksPerWorker: number): Algorithm;
}

/** Sends blocks directly. It cannot combine, so it refuses collectives with an op. */
const linearAlgorithm: Algorithm = {
  name: 'linear',
  refuses: (collective) => ('op' in collective ? `linear supports moves, but not ${collective.kind}` : undefined),
  plan(collective, ranks) {
    if ('op' in collective) throw new TypeError(`linear supports moves, but not ${collective.kind}`);
    return linear(collective, ranks);
  },
};

/** Every algorithm of the repository that is a schedule. */
export const choices: readonly Choice[] = [
  { ...catalogue.ring, title: 'ring', sources: [sources.ring] },
  { ...catalogue.direct, title: 'direct', sources: [sources.direct] },
  { ...catalogue.rechd, title: 'rechd: recursive halving-doubling', sources: [sources.rechd] },
  { ...catalogue.binaryTree, title: 'binary tree', sources: [sources.binaryTree] },
  { ...catalogue.reductionToOne, title: 'reduction to one', sources: [sources.reductionToOne] },
  { ...catalogue.hierarchicalCopy, title: 'hierarchical copy', sources: [sources.hierarchicalCopy] },
  {
    name: 'xring',
    title: 'xring: rings that enter each worker once',
    sources: [sources.ring],
    algorithmFor: (workers, ranksPerWorker) => ringAlgorithm({ workers, subChunks: Math.min(2, ranksPerWorker) }),
  },
  {
    ...catalogue.directRing,
    title: 'direct/ring: direct in each worker, a ring across',
    sources: [sources.hierarchical, sources.direct, sources.ring],
  },
  {
    ...catalogue.directRechd,
    title: 'direct/rechd: direct in each worker, halving-doubling across',
    sources: [sources.hierarchical, sources.direct, sources.rechd],
  },
  {
    name: 'shuffle',
    title: 'shuffle: one parameter server per worker',
    sources: [sources.shuffle],
    algorithmFor: (workers, ranksPerWorker) =>
      shuffleAlgorithm({ gatherRanks: Array.from({ length: workers }, (_, worker) => worker * ranksPerWorker) }),
  },
  { ...catalogue.pscpu, title: 'pscpu: parameter servers on two CPUs', sources: [sources.spec, sources.shuffle] },
  {
    name: 'psgpu',
    title: 'psgpu: parameter servers on two GPUs',
    sources: [sources.spec, sources.shuffle],
    algorithmFor: (workers, gpusPerWorker) => specAlgorithm({ alg: 'psgpu', shards: 2 }, { workers, gpusPerWorker }),
  },
  {
    ...catalogue.pscpuPscpu,
    title: 'pscpu/pscpu: reduction to one in each worker, parameter servers across',
    sources: [sources.spec, sources.hierarchical, sources.reductionToOne, sources.shuffle],
  },
  {
    name: 'linear',
    title: 'linear: every block goes directly',
    sources: [sources.linear],
    algorithmFor: () => linearAlgorithm,
  },
];
