import { type ReplicaInfo, trainingMeterOf } from '@coll/strategy/internal';
import { presentStepOf } from './present-step.js';
import type { TensorFlow, TfGradients, TfOptimizer } from './tensorflow.js';
import { watchModels } from './watched-models.js';

/**
 * Counts the steps of a single replica, whose optimizer is not replaced. Only runs that are recorded, as those of
 * `coll try`, pay for it.
 * @param samples the option of `distributedOptimizer`
 */
export function countSteps(
  tf: TensorFlow,
  optimizer: TfOptimizer,
  context: ReplicaInfo,
  samples: (() => number) | undefined,
): void {
  const meter = trainingMeterOf(context);
  if (!meter.onStep) return;
  const applyGradients = optimizer.applyGradients.bind(optimizer);
  let samplesOfFit: number | undefined;
  optimizer.applyGradients = (gradients: TfGradients) => {
    applyGradients(gradients);
    meter.note(0, samplesOfFit ?? samples?.() ?? presentStepOf(context).logs?.size);
  };
  watchModels(tf, optimizer, {
    addModel: () => {},
    checkFit: () => undefined,
    ownRowsOf: (rows) => rows,
    withSamples: (rows, step) => {
      samplesOfFit = rows;
      try {
        return step();
      } finally {
        samplesOfFit = undefined;
      }
    },
    stepWithoutSamples: () => {},
  });
}
