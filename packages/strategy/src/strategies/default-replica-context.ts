import { asTensor, type Tensor } from '@coll/core';
import { ReplicaGroup } from '@coll/core/internal';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { GroupReplicaContext } from '../replicas/group-replica-context.js';
import { requireMergeCall } from '../replicas/merge-call.js';
import { currentFrame, runAcross } from '../scope/contexts.js';
import type { MergeFunction, Strategy } from '../scope/strategy.js';

/** The only replica of the default strategy. Its collectives involve no other replica. */
export class DefaultReplicaContext extends GroupReplicaContext {
  readonly #group = new ReplicaGroup({ ops: new ReductionToOneDevice(), size: 1, ids: [0], devices: ['cpu:0'] });

  constructor(strategy: Strategy) {
    super({ strategy, numReplicasInSync: 1, id: 0, device: 'cpu:0' });
  }

  protected get group(): ReplicaGroup {
    return this.#group;
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: MergeFunction<Args, Result>,
    args?: readonly unknown[],
    kwargs?: Readonly<Record<string, unknown>>,
  ): Promise<Result> {
    this.requireHere('mergeCall');
    const list = requireMergeCall(fn, args, kwargs);
    return runAcross(this.strategy, () => fn(this.strategy, ...list));
  }

  maxForInput(numbers: Float64Array | Uint8Array): Tensor {
    return asTensor(numbers);
  }

  report(): void {}

  protected override requireHere(method: string): void {
    if (currentFrame()) super.requireHere(method);
  }
}
