// The module of each worker of the strategy.
import '@coll/strategy/replica-thread';
import type { ReplicaContext } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import { momentum, rate, type StepReport, stepsPerRound, type Weights } from './course.ts';
import { buildModel, countCorrect, setWeights, startTensorFlow, trainRound, weightsOf } from './model.ts';

export interface Task {
  /** From 0. */
  readonly round: number;
  /** The weights after the last round, for new workers. */
  readonly weights: Weights | undefined;
  /** One shared element: the number of a replica that shall end, or -1. */
  readonly ending: Int32Array;
}

export interface RoundResult {
  /** Of the digits that the model reads correctly, from 0 to 1. */
  readonly accuracy: number;
  /** The time that training took. */
  readonly seconds: number;
  /** The same for all replicas. */
  readonly weights: Weights;
}

// A worker keeps its model from run to run.
let model: tf.Sequential | undefined;

/** Trains for one round. */
export async function replica(context: ReplicaContext, { round, weights, ending }: Task): Promise<RoundResult> {
  const { replicaIdInSyncGroup: id, numReplicasInSync: replicas } = context;
  model ??= await openModel(context, weights);

  const afterStep = {
    onBatchEnd: async (batch: number, logs?: tf.Logs) => {
      const step = round * stepsPerRound + batch + 1;
      if (id === 0) context.report({ step, loss: logs?.['loss'] as number } satisfies StepReport);
      if (Atomics.load(ending, 0) === id) await endWorker();
    },
  };
  const callbacks = distributedCallbacks(tf, [afterStep], context, { batchLogs: 'mean' });
  const seconds = await trainRound(model, round, { id, replicas }, callbacks);

  const { data } = context.allReduceSync('sum', Float64Array.from(countCorrect(model, { id, replicas })));
  const [correct = 0, all = 1] = data;
  return { accuracy: correct / all, seconds, weights: weightsOf(model) };
}

async function openModel(context: ReplicaContext, weights: Weights | undefined): Promise<tf.Sequential> {
  await startTensorFlow(1);
  const opened = buildModel(distributedOptimizer(tf, tf.train.momentum(rate, momentum), context));
  if (weights) setWeights(opened, weights);
  return opened;
}

/** Ends this worker in the middle of a round, as a crash would, while the others wait for it. */
function endWorker(): Promise<never> {
  globalThis.close();
  return new Promise(() => {});
}
