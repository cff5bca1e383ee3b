import type { BaselineRequest, BaselineResult } from './baseline.ts';
import moduleOfBaseline from './baseline.ts?worker&url';
import { digitsPerRound } from './course.ts';
import type { RoundResult } from './replica.ts';
import { replicaUrl, strategyOf } from './training.ts';

export const baselineUrl = new URL(moduleOfBaseline, location.href);

/** Rounds that are measured, after a first one that compiles and is not. */
const rounds = 3;

/** Digits per second with each number of replicas, in a strategy of its own. */
export async function speedOf(replicas: number): Promise<number> {
  await using strategy = strategyOf(replicas);
  const ending = Int32Array.of(-1);
  let seconds = 0;
  for (let round = 0; round <= rounds; round++) {
    const args = [{ round, weights: undefined, ending }] as const;
    const results = await strategy.run<typeof import('./replica.ts')>(replicaUrl, { args });
    if (round > 0) seconds += (strategy.experimentalLocalResults(results)[0] as RoundResult).seconds;
  }
  return (rounds * digitsPerRound) / seconds;
}

/** Digits per second of TensorFlow.js alone, and the number of its threads. */
export async function speedOfBaseline(): Promise<{ readonly speed: number; readonly threads: number }> {
  const worker = new Worker(baselineUrl, { type: 'module' });
  try {
    const { seconds, threads } = await new Promise<BaselineResult>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(message));
      worker.postMessage({ rounds } satisfies BaselineRequest);
    });
    return { speed: (rounds * digitsPerRound) / seconds, threads };
  } finally {
    worker.terminate();
  }
}
