// A worker that trains the same model without coll: TensorFlow.js with threads of its own.
import * as tf from '@tensorflow/tfjs';
import { getThreadsCount } from '@tensorflow/tfjs-backend-wasm';
import { momentum, rate } from './course.ts';
import { buildModel, startTensorFlow, trainRound } from './model.ts';

export interface BaselineRequest {
  readonly rounds: number;
}

export interface BaselineResult {
  /** How long training took after the first round. */
  readonly seconds: number;
  readonly threads: number;
}

addEventListener('message', ({ data }: MessageEvent<BaselineRequest>) => void train(data));

async function train({ rounds }: BaselineRequest): Promise<void> {
  await startTensorFlow(navigator.hardwareConcurrency);
  const model = buildModel(tf.train.momentum(rate, momentum));
  let seconds = 0;
  for (let round = 0; round <= rounds; round++) {
    const taken = await trainRound(model, round, { id: 0, replicas: 1 });
    if (round > 0) seconds += taken;
  }
  postMessage({ seconds, threads: getThreadsCount() } satisfies BaselineResult);
}
