import { type ReplicaContext, summarizeTraining, type TrainingSummary } from '@coll/strategy';
import { distributedCallbacks, distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';
import { digits } from './digits.ts';
import { buildModel, countCorrect, flatWeights, tensorsOf, useWasm } from './model.ts';

export interface Task {
  readonly seed: number;
  readonly epochs: number;
  readonly stepsPerEpoch: number;
  /** Samples of one step, over all replicas. */
  readonly batchSize: number;
  /** Digits to test the model on afterwards, over all replicas. */
  readonly testSamples: number;
}

/** Sent by replica 0 after every step. */
export interface StepReport {
  /** Over all replicas. */
  readonly loss: number;
}

export interface ReplicaResult {
  readonly weights: Float32Array;
  /** Samples of all replicas for each second of training, once warm. */
  readonly samplesPerSecond: number;
  /** Undefined for a single replica. */
  readonly summary: TrainingSummary | undefined;
  readonly accuracy: number;
}

// The first steps compile the WASM code and compare and broadcast the weights.
const warmUpSteps = 3;

// Test digits have numbers that no training digit has.
const firstTestNumber = 2 ** 30;

/** One replica: trains on its share of every batch with an ordinary `model.fit`. */
export async function replica(context: ReplicaContext, task: Task): Promise<ReplicaResult> {
  await useWasm();
  const { seed, epochs, stepsPerEpoch, batchSize } = task;
  const { replicaIdInSyncGroup: first, numReplicasInSync: stride } = context;
  const share = batchSize / stride;
  const watch = new StopWatch(Math.min(warmUpSteps, epochs * stepsPerEpoch - 1));

  const model = buildModel(seed);
  const optimizer = distributedOptimizer(tf, tf.train.momentum(0.1, 0.9), context);
  model.compile({ optimizer, loss: 'categoricalCrossentropy' });
  const { x, y } = tensorsOf(digits({ seed, first, stride, count: stepsPerEpoch * share }));
  const measure = { onBatchEnd: () => watch.endStep() };
  const report = {
    onBatchEnd: (_batch: number, logs?: tf.Logs) =>
      context.report({ loss: logs?.['loss'] as number } satisfies StepReport),
  };
  const callbacks = distributedCallbacks(tf, measure, context, { batchLogs: 'mean', onReplica0: report });
  await model.fit(x, y, { epochs, batchSize: share, shuffle: false, verbose: 0, callbacks });

  return {
    samplesPerSecond: watch.stepsPerSecond * batchSize,
    summary: summarizeTraining(context),
    accuracy: testAccuracy(context, model, task),
    weights: flatWeights(model),
  };
}

/** Each replica tests its share of the digits. All replicas get the same sum. */
function testAccuracy(context: ReplicaContext, model: tf.Sequential, { seed, testSamples }: Task): number {
  const { replicaIdInSyncGroup, numReplicasInSync: stride } = context;
  const count = Math.floor(testSamples / stride);
  const correct = countCorrect(model, digits({ seed, first: firstTestNumber + replicaIdInSyncGroup, stride, count }));
  const sums = context.allReduceSync('sum', Float64Array.of(correct, count));
  const [allCorrect = 0, allTested = 0] = sums.data;
  return allCorrect / allTested;
}

/** Measures training from the end of the warm-up to the end of the last step. */
class StopWatch {
  #warmUp: number;
  #begin = performance.now();
  #end = 0;
  #steps = 0;

  constructor(warmUp: number) {
    this.#warmUp = warmUp;
  }

  endStep(): void {
    this.#end = performance.now();
    if (this.#warmUp === 0) {
      this.#steps += 1;
      return;
    }
    this.#warmUp -= 1;
    this.#begin = this.#end;
  }

  get stepsPerSecond(): number {
    return (this.#steps * 1000) / (this.#end - this.#begin);
  }
}
