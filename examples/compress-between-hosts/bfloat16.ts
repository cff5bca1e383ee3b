import {
  AllReduceOps,
  type AllReduceOptions,
  type Communicator,
  definePlugin,
  fromBfloat16,
  type Tensor,
  tensor,
  toBfloat16,
  type World,
} from '@coll/core';
import { type ForwardedCall, ForwardingCommunicator, type ReplacementCall } from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';
import { ReductionToOneDevice } from '@coll/reduction-to-one';

/** Sends float32 values as bfloat16, which has half of the bytes. */
class Compressing extends ForwardingCommunicator {
  protected override replacement({ collective, inputs, outputs }: ForwardedCall): ReplacementCall | undefined {
    const isSum = collective.kind === 'all-reduce' && (collective.op === 'sum' || collective.op === 'mean');
    if (!isSum || inputs[0]?.[0]?.dtype !== 'float32') return undefined;
    const short = inputs.map((segments) => segments.map(compressed));
    const sums = short.flat();
    const finish = () => {
      for (const [index, { data }] of outputs.flat().entries()) expand(sums[index] as Tensor, data as Float32Array);
    };
    return { inputs: short, outputs: short, finish };
  }
}

function compressed({ data, device }: Tensor): Tensor {
  return tensor(Uint16Array.from(data as Float32Array, toBfloat16), { dtype: 'bfloat16', device });
}

function expand({ data }: Tensor, into: Float32Array): void {
  into.set(Float32Array.from(data as Uint16Array, fromBfloat16));
}

class CompressingAllReduce extends AllReduceOps {
  readonly name = 'bfloat16';

  constructor(options: AllReduceOptions = {}, world?: World) {
    const across = (workers: Communicator) => new Compressing(workers);
    super({ ...options, algorithm: directAlgorithm(), fallback: new ReductionToOneDevice(), world, across });
  }
}

export const bfloat16 = definePlugin<AllReduceOptions>({
  name: 'bfloat16',
  module: import.meta.url,
  create: (options, world) => new CompressingAllReduce(options, world),
});
