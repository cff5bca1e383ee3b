import { refusedCollective } from '../collectives/buffers.js';
import { type Collective, type CollectiveKind, nameOf } from '../collectives/collective.js';
import type { ReduceOp } from '../collectives/reduce-op.js';
import { combine } from '../kernels/arithmetic.js';
import { ControllerGroup } from '../members/controller-group.js';
import { CrossDeviceOps } from '../ops/cross-device-ops.js';
import { JoiningCommunicator } from '../packing/joining-communicator.js';
import type { Communicator, Group, RunOptions } from '../runtime/communicator.js';
import { viewOnDevice } from '../sparse/sparse.js';
import { CollError, NotImplementedError, ValueError } from '../support/errors.js';
import { quote } from '../support/quote.js';
import { allRanks } from '../support/ranks.js';
import { requireList } from '../support/requirements.js';
import { DistributedValues, PerReplica } from '../values/distributed-values.js';
import type { DType } from '../values/dtype.js';
import type { Value } from '../values/indexed-slices.js';
import { copyElements, reshape, type Tensor } from '../values/tensor.js';

/**
 * Wraps cross-device ops as a communicator, with one local rank per device, for libraries that are
 * only available as ops. Supports all-reduce, reduce, broadcast and all-gather, but no blocking
 * calls. Calls throw a `CollError` if the ops return results that do not fit. Closing the
 * communicator leaves the ops open.
 * @throws ValueError unless `ops` are cross-device ops and `devices` is a non-empty list
 *
 * @example
 * ```ts
 * import { communicatorOf, tensor } from '@coll/core';
 * import { ReductionToOneDevice } from '@coll/reduction-to-one';
 *
 * const communicator = communicatorOf(new ReductionToOneDevice(), ['cpu:0', 'cpu:1']);
 * const buffers = [tensor(new Float32Array([1, 2])), tensor(new Float32Array([3, 4]))];
 * await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[1]?.data); // Float32Array(2) [ 4, 6 ]
 * ```
 */
export function communicatorOf(ops: CrossDeviceOps, devices: readonly string[]): Communicator {
  if (!(ops instanceof CrossDeviceOps))
    throw new ValueError('ERR_COLL_VALUE', `communicatorOf: the argument must be cross-device ops, got ${quote(ops)}`);
  requireList(devices, 'devices');
  return new OpsCommunicator(ops, devices);
}

const kinds: readonly CollectiveKind[] = ['all-reduce', 'reduce', 'broadcast', 'all-gather'];

class OpsCommunicator extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group = new ControllerGroup({ communicator: () => this.#refuseAlgorithm() });
  readonly #ops: CrossDeviceOps;
  readonly #devices: readonly string[];

  constructor(ops: CrossDeviceOps, devices: readonly string[]) {
    super();
    this.size = devices.length;
    this.localRanks = allRanks(this.size);
    this.#ops = ops;
    this.#devices = devices;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    const { kind } = collective;
    const refused = refusedCollective(collective, dtype, this.size);
    if (refused !== undefined || kinds.includes(kind)) return refused;
    return `${this.#ops.name} is available as cross-device ops only, which support ${kinds.join(', ')}, but not ${kind}`;
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): Promise<void> {
    const operation = nameOf(collective);
    const refused = this.refuses(collective, (inputs[0] as Tensor).dtype);
    if (refused !== undefined) throw new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, { operation });
    const components = inputs.map((input, rank) => viewOnDevice(flat(input), this.#devices[rank] as string));
    const result = await this.#results(collective, components, options);
    const results = (result instanceof DistributedValues ? result.values : [result]) as readonly Tensor[];
    for (const [rank, output] of outputs.entries()) {
      if (collective.kind === 'reduce' ? rank !== collective.root : options.sharedResult && rank > 0) continue;
      this.#requireResult(results, rank, output, operation);
      copyElements(output.data, (results[rank] as Tensor).data);
    }
  }

  protected runWholeSync(collective: Collective): never {
    const operation = nameOf(collective);
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      `${operation}: ${this.#ops.name} is available as cross-device ops only, which cannot block the thread: use run`,
      { operation },
    );
  }

  async close(): Promise<void> {
    // The caller owns the ops.
  }

  #refuseAlgorithm(): never {
    const message = `communicator: ${this.#ops.name} is available as cross-device ops only, which choose their algorithm themselves: use the communicator that you have`;
    throw new NotImplementedError('ERR_COLL_NOT_IMPLEMENTED', message, { operation: 'communicator' });
  }

  /** Validates the results of the cross-device ops, which may be third-party code. */
  #requireResult(results: readonly (Tensor | undefined)[], rank: number, { data, dtype }: Tensor, operation: string) {
    const given = results[rank];
    if (results.length === this.size && given?.data.length === data.length && given.dtype === dtype) return;
    const description = given ? `${given.data.length} elements of ${given.dtype}` : 'nothing';
    throw new CollError(
      'ERR_COLL_BUFFER',
      `${operation}: ${this.#ops.name} returned ${results.length} results for ${this.size} devices, and ${description} for rank ${rank}, which needs ${data.length} elements of ${dtype}`,
      { operation, rank },
    );
  }

  async #results(
    collective: Collective,
    components: readonly Tensor[],
    { signal, timeoutSeconds }: RunOptions,
  ): Promise<unknown> {
    const ops = this.#ops;
    const call = { signal, timeoutSeconds: timeoutSeconds ?? null };
    const value: PerReplica<Value> = new PerReplica(components);
    switch (collective.kind) {
      case 'all-reduce':
      case 'reduce':
        // Ops are best at results for all devices, even if only the root needs one. They copy a
        // single component without applying the op, which may change its dtype.
        if (this.size === 1) return combine(collective.op, components);
        return ops.reduce(collective.op.toUpperCase() as ReduceOp, value, value, call);
      case 'broadcast':
        return ops.broadcast(components[collective.root] as Tensor, this.#devices);
      default:
        return ops.gather(value, this.#devices, 0, call);
    }
  }
}

function flat(tensor: Tensor): Tensor {
  return tensor.shape.length === 1 ? tensor : reshape(tensor, [tensor.data.length]);
}
