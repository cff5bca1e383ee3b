import { type Tensor, tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';
import { exchangeSync } from './exchange.js';
import { type Place, requireSameVariables } from './same-variables.js';
import { type CarriedDType, elementsOf, type TensorFlow, type TfModel, type TfVariable } from './tensorflow.js';

type Broadcaster = Place & Pick<ReplicaContext, 'allReduceSync' | 'broadcastSync'>;

/**
 * Gives every replica the weights of replica `root`, the ones that are not trained included. For models that were loaded or built
 * at random, and for statistics such as those of batch normalisation, which each replica gathers from its own share of the data.
 * @throws InvalidArgumentError, the same on all replicas, where their models differ
 */
export function broadcastWeights(
  tf: TensorFlow,
  weights: TfModel | readonly TfVariable[],
  context: Broadcaster,
  root = 0,
): void {
  if (context.numReplicasInSync === 1) return;
  const variables = 'weights' in weights ? weights.weights.map((weight) => weight.read() as TfVariable) : weights;
  exchangeSync(requireSameVariables(variables, context), context);
  broadcastVariables(tf, variables, context, { root });
}

/** The same for variables that have been compared. */
export function broadcastVariables(
  tf: TensorFlow,
  variables: readonly TfVariable[],
  context: Broadcaster,
  { root, timeoutSeconds }: { readonly root: number; readonly timeoutSeconds?: number | undefined },
): void {
  for (const variable of variables) {
    const { dtype, shape } = variable as { dtype: CarriedDType; shape: number[] };
    const own = tensor(elementsOf(variable.dataSync(), dtype), { dtype, shape });
    const { data } = context.broadcastSync(own, root, { timeoutSeconds }) as Tensor;
    if (context.replicaIdInSyncGroup === root) continue;
    // Not in place: a variable may share its memory with the tensor that it was made from, or with a sibling.
    const received = tf.tensor(data as Float32Array, shape, dtype);
    variable.assign(received);
    received.dispose();
  }
}
