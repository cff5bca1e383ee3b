import { type ReplicaContext, summarizeTraining, type TrainingSummary } from '@coll/strategy';
import { digits } from './digits.ts';
import type { BuildModel, Course } from './framework.ts';
import type { Framework } from './options.mjs';

export interface Task extends Course {
  readonly framework: Framework;
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

// The first steps compile code and compare the weights of the replicas.
const warmUpSteps = 3;

// Test digits have numbers that no training digit has.
const firstTestNumber = 2 ** 30;

/** One replica: trains on its share of every batch, then tests its share of the test digits. */
export async function replica(context: ReplicaContext, task: Task): Promise<ReplicaResult> {
  const { seed, epochs, stepsPerEpoch, batchSize, testSamples } = task;
  const { replicaIdInSyncGroup: id, numReplicasInSync: stride } = context;
  const model = await (await builderOf(task.framework))(task, context);

  const count = (stepsPerEpoch * batchSize) / stride;
  const watch = new StopWatch(Math.min(warmUpSteps, epochs * stepsPerEpoch - 1));
  await model.train(digits({ seed, first: id, stride, count }), (loss) => {
    watch.endStep();
    if (id === 0) context.report({ loss } satisfies StepReport);
  });

  const tested = Math.floor(testSamples / stride);
  const correct = await model.countCorrect(digits({ seed, first: firstTestNumber + id, stride, count: tested }));
  const [allCorrect = 0, allTested = 0] = context.allReduceSync('sum', Float64Array.of(correct, tested)).data;
  return {
    samplesPerSecond: watch.stepsPerSecond * batchSize,
    summary: summarizeTraining(context),
    accuracy: allCorrect / allTested,
    weights: await model.weights(),
  };
}

/** Loads only the framework that is used. */
async function builderOf(framework: Framework): Promise<BuildModel> {
  const { buildModel } = framework === 'tfjs' ? await import('./tfjs.ts') : await import('./jax-js.ts');
  return buildModel;
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
