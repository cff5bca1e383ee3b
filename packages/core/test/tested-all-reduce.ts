import { directAlgorithm } from '@coll/direct';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { JsCommunicator } from '../src/js/js-engine.js';
import { AllReduceOps, type AllReduceSetup } from '../src/ops/all-reduce-ops.js';
import { listOf } from '../src/runtime/segment-list.js';
import { PerReplica } from '../src/values/distributed-values.js';
import { type Tensor, tensor } from '../src/values/tensor.js';

/** An all-reduce by the algorithm `direct`, so that results do not depend on packing. */
export class TestedAllReduce extends AllReduceOps {
  readonly name = 'tested';

  constructor(setup: Partial<AllReduceSetup> = {}) {
    super({
      algorithm: directAlgorithm(),
      fallback: new ReductionToOneDevice(),
      ...(setup.world ? {} : { engine: 'js' }),
      ...setup,
    });
  }
}

/** Integers on a device. */
export function on(device: string, ...elements: readonly number[]): Tensor {
  return tensor(elements, { device, dtype: 'int32' });
}

/** One list of integers on each of `cpu:0`, `cpu:1` and so on. */
export function spread(...lists: readonly (readonly number[])[]): PerReplica<Tensor> {
  return new PerReplica(lists.map((elements, device) => on(`cpu:${device}`, ...elements)));
}

/** Keeps in a list how many elements each collective of the js engine's communicators takes. */
export function keepLengths(lengths: number[]): JsCommunicator['run'] {
  const { runSync } = JsCommunicator.prototype;
  return async function (this: JsCommunicator, ...args) {
    lengths.push(listOf(args[1][0] ?? []).reduce((sum, { data }) => sum + data.length, 0));
    runSync.apply(this, args);
  };
}
