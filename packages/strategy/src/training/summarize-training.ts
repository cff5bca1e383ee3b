import type { ReplicaContext } from '../scope/strategy.js';
import { exchangeSync, type ReplicaInfo } from './exchange.js';
import { requireContext } from './require-context.js';
import { type TrainingSummary, trainingMeterOf } from './training-meter.js';

/**
 * Returns what the steps of a training took so far on all replicas, and whether several replicas pay. All replicas call this
 * function after the same step. A training begins with its first step, or with `onTrainBegin` of `distributedCallbacks`;
 * without them, later runs of the same replica add their steps, and the time between runs. Measured are the steps of `distributedOptimizer`, `reduceGradients` and
 * `reduceGradientsSync` of `@coll/tfjs`, with everything between two steps. Returns undefined after fewer than four steps, and for a single
 * replica.
 * @throws ValueError unless the argument is the context of a replica
 *
 * @example
 * ```ts
 * import { MirroredStrategy, summarizeTraining } from '@coll/strategy';
 *
 * await using strategy = new MirroredStrategy({ devices: ['cpu:0'] });
 * const verdicts = await strategy.run((replica) => summarizeTraining(replica)?.verdict ?? 'a single replica');
 * console.log(strategy.experimentalLocalResults(verdicts)); // [ 'a single replica' ]
 * ```
 */
export function summarizeTraining(
  context: ReplicaInfo & Pick<ReplicaContext, 'allReduceSync'>,
): TrainingSummary | undefined {
  requireContext(context, 'allReduceSync', 'summarizeTraining');
  if (context.numReplicasInSync === 1) return undefined;
  return exchangeSync(trainingMeterOf(context).summary(context), context);
}
