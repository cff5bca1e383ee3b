// An evolution strategy. Each replica evaluates a part of each generation. Only seeds and scores travel, because every replica can
// make the weights of any individual from its seed.
import type { ReplicaContext } from '@coll/strategy';
import { attempt, weightCount } from './pole.ts';
import { addNoise } from './random.ts';

const population = 2048;
const parents = 256;

export interface Search {
  readonly generations: number;
  readonly evaluations: number;
  /** Seconds for which the pole stands at the end. */
  readonly standing: number;
  readonly weights: Float64Array;
  readonly seconds: number;
  /** Seconds that each replica has spent in evaluations. */
  readonly evaluating: Float64Array;
}

/**
 * Searches until the pole stands for the last three seconds. All replicas make the same sums in the same order, so any number of
 * replicas finds the same weights, bit by bit.
 */
export function replica(context: ReplicaContext, seed: number, mostGenerations: number): Search {
  const { replicaIdInSyncGroup: id, numReplicasInSync: replicas } = context;
  const begin = Math.floor((population * id) / replicas);
  const end = Math.floor((population * (id + 1)) / replicas);
  const own = new Float64Array(end - begin);
  const center = new Float64Array(weightCount);
  const individual = new Float64Array(weightCount);
  let generations = 0;
  let spread = 2;
  let evaluating = 0;
  // All replicas have started.
  context.allGatherSync(own, 0);
  const start = performance.now();
  while (generations < mostGenerations && attempt(center).standing < 3) {
    const seeds = (seed * mostGenerations + generations) * population;
    for (let index = begin; index < end; index++) {
      individual.set(center);
      addNoise(individual, spread, seeds + index);
      const from = performance.now();
      own[index - begin] = attempt(individual).score;
      evaluating += performance.now() - from;
    }
    // The parts of the replicas may have different lengths.
    const scores = context.allGatherSync(own, 0).data;
    const best = Array.from(scores.keys()).sort((a, b) => (scores[b] as number) - (scores[a] as number));
    for (const index of best.slice(0, parents)) addNoise(center, spread / parents, seeds + index);
    spread *= 0.97;
    generations += 1;
  }
  const seconds = (performance.now() - start) / 1000;
  return {
    generations,
    evaluations: generations * population,
    standing: attempt(center).standing,
    weights: center,
    seconds,
    evaluating: context.allGatherSync(Float64Array.of(evaluating / 1000), 0).data,
  };
}
