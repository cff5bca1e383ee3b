import {
  AllReduceOps,
  type Communicator,
  definePlugin,
  fromBfloat16,
  type ProcessGroup,
  type Segments,
  type Tensor,
  tensor,
  toBfloat16,
  type World,
} from '@coll/core';
import {
  type ForwardedCall,
  ForwardingCommunicator,
  listOf,
  type ReplacementCall,
  type ValuePart,
} from '@coll/core/plugin';
import { directAlgorithm } from '@coll/direct';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { MultiWorkerMirroredStrategy, type MultiWorkerMirroredStrategyOptions } from '@coll/strategy';
import { afterEach, describe, expect, it } from 'vitest';
import { bfloat16 } from '../../../examples/compress-between-hosts/bfloat16.js';
import { runWorkers } from './worker-processes.js';
import { closeGroups, cpus, groupsHere } from './workers-here.js';

afterEach(closeGroups);

const rounded = (value: number) => fromBfloat16(toBfloat16(value));
const bytesOf = (buffer: Segments | undefined) =>
  listOf(buffer ?? []).reduce((sum, { data }) => sum + data.byteLength, 0);

/** Adds up the bytes that a worker passes to all-reduces of its group. */
class Counting extends ForwardingCommunicator {
  readonly #sent: { bytes: number };

  constructor(inner: Communicator, sent: { bytes: number }) {
    super(inner);
    this.#sent = sent;
  }

  override run(...call: Parameters<Communicator['run']>): Promise<void> {
    const [{ kind }, [input]] = call;
    if (kind === 'all-reduce') this.#sent.bytes += bytesOf(input);
    return super.run(...call);
  }
}

function counted(group: ProcessGroup, sent: { bytes: number }): ProcessGroup {
  const communicator: ProcessGroup['communicator'] = (algorithm) => new Counting(group.communicator(algorithm), sent);
  return new Proxy(group, {
    get: (target, name) => {
      if (name === 'communicator') return communicator;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Runs a function as each worker; returns its results in rank order, and the bytes that worker 0 has sent. */
async function onWorkers<Result>(
  [workers, replicas]: readonly [number, number],
  crossDeviceOps: MultiWorkerMirroredStrategyOptions['crossDeviceOps'],
  run: (strategy: MultiWorkerMirroredStrategy, sent: { bytes: number }) => Promise<Result>,
): Promise<Result[]> {
  const groups = await groupsHere(workers);
  return Promise.all(
    groups.map(async (group) => {
      const sent = { bytes: 0 };
      const devices = cpus(replicas);
      await using strategy = new MultiWorkerMirroredStrategy({ group: counted(group, sent), devices, crossDeviceOps });
      await strategy.ready();
      sent.bytes = 0;
      return await run(strategy, sent);
    }),
  );
}

/** Float32 values of a replica, most of which bfloat16 cannot represent. */
const elementsOf = (rank: number) => Float32Array.from({ length: 40 }, (_, index) => (index + 1) / (rank + 3));

/** The sum of all workers, each of which sends its exact sum as bfloat16. */
function expectedSum(workers: number, replicas: number): number[] {
  const sumHere = (worker: number, index: number) => {
    let sum = 0;
    for (let place = 0; place < replicas; place++)
      sum = Math.fround(sum + (elementsOf(worker * replicas + place)[index] as number));
    return sum;
  };
  return Array.from(elementsOf(0), (_, index) => {
    let total = 0;
    for (let worker = 0; worker < workers; worker++) total = Math.fround(total + rounded(sumHere(worker, index)));
    return rounded(total);
  });
}

describe('the example of a plug-in that compresses between hosts', () => {
  it.each([
    [2, 1],
    [2, 2],
    [3, 2],
  ])('rounds what leaves a worker, for %i workers with %i devices each', async (workers, devices) => {
    const results = await onWorkers([workers, devices], bfloat16, async (strategy) => {
      const sums = await strategy.run((context) => context.allReduce('sum', elementsOf(context.replicaIdInSyncGroup)));
      return strategy.experimentalLocalResults(sums).map(({ data }) => [...data]);
    });
    const expected = expectedSum(workers, devices);
    expect(results).toEqual(cpus(workers).map(() => cpus(devices).map(() => expected)));
  });

  it('is exact within a single worker, and for values other than float32', async () => {
    const exact = (rank: number) => Float64Array.from(elementsOf(rank));
    const total = (count: number, of: typeof exact | typeof elementsOf) =>
      Array.from(of(0), (_, index) => {
        const parts = cpus(count).map((_, rank) => of(rank)[index] as number);
        return parts.reduce((sum, part) => (of === exact ? sum + part : Math.fround(sum + part)), 0);
      });
    const [alone] = await onWorkers([1, 2], bfloat16, async (strategy) => {
      const sums = await strategy.run((context) => context.allReduce('sum', elementsOf(context.replicaIdInSyncGroup)));
      return strategy.experimentalLocalResults(sums).map(({ data }) => [...data]);
    });
    expect(alone).toEqual(cpus(2).map(() => total(2, elementsOf)));
    const doubles = await onWorkers([2, 1], bfloat16, async (strategy) => {
      const sums = await strategy.run((context) => context.allReduce('sum', exact(context.replicaIdInSyncGroup)));
      return [...(strategy.experimentalLocalResults(sums)[0] as Tensor).data];
    });
    expect(doubles).toEqual([total(2, exact), total(2, exact)]);
  });

  it.each([1, 2])('sends half of the bytes between workers with %i devices each', async (devices) => {
    const sentBy = async (crossDeviceOps: MultiWorkerMirroredStrategyOptions['crossDeviceOps']) => {
      const [bytes] = await onWorkers([2, devices], crossDeviceOps, async (strategy, sent) => {
        await strategy.run((context) => context.allReduce('mean', [elementsOf(0), elementsOf(1)]));
        return sent.bytes;
      });
      return bytes;
    };
    expect([await sentBy(undefined), await sentBy(bfloat16)]).toEqual([2 * 40 * 4, 2 * 40 * 2]);
  });

  it.each([1, 2])('serves worker processes with %i replicas in threads each', async (replicas) => {
    const ends = await runWorkers('compressing-worker.js', 2, [String(replicas)]);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const expected = expectedSum(2, replicas);
    for (const { stdout } of ends) expect(JSON.parse(stdout)).toEqual(cpus(replicas).map(() => [expected, expected]));
  });
});

/** Compresses to bfloat16 and adds the error of each value to its elements of the next step. */
class WithErrorFeedback extends ForwardingCommunicator {
  readonly #errors = new Map<string | number, Float32Array>();

  protected override replacement({ collective, inputs, outputs, options }: ForwardedCall): ReplacementCall | undefined {
    if (collective.kind !== 'all-reduce' || inputs[0]?.[0]?.dtype !== 'float32') return undefined;
    const data = inputs.flat().flatMap((segment) => [...(segment.data as Float32Array)]);
    const bits = new Uint16Array(data.length);
    for (const part of options.values ?? []) this.#compress(data, bits, part);
    const short = [tensor(bits, { dtype: 'bfloat16' })];
    const finish = () => {
      let begin = 0;
      for (const { data: into } of outputs.flat() as Tensor<'float32'>[]) {
        into.set(Float32Array.from(bits.subarray(begin, begin + into.length), fromBfloat16));
        begin += into.length;
      }
    };
    return { inputs: short, outputs: short, finish };
  }

  #compress(data: readonly number[], bits: Uint16Array, { id, begin, offset, length }: ValuePart): void {
    const errors = this.#errors.get(id) ?? new Float32Array(64);
    this.#errors.set(id, errors);
    for (let index = 0; index < length; index++) {
      const wanted = Math.fround((data[offset + index] as number) + (errors[begin + index] as number));
      bits[offset + index] = toBfloat16(wanted);
      errors[begin + index] = wanted - fromBfloat16(bits[offset + index] as number);
    }
  }
}

class ErrorFeedback extends AllReduceOps {
  readonly name = 'error-feedback';

  constructor(numPacks: number, world?: World) {
    const across = (workers: Communicator) => new WithErrorFeedback(workers);
    super({ algorithm: directAlgorithm(), fallback: new ReductionToOneDevice(), world, numPacks, across });
  }
}

describe('a plug-in that keeps the error of each value for the next step', () => {
  const lengths: Readonly<Record<string, number>> = { bias: 3, kernel: 20, scale: 1, table: 11 };
  // The values of a step, and the size from which a pack is closed: 0 cuts all values evenly.
  const steps: readonly (readonly [names: readonly string[], bytesPerPack: number])[] = [
    [['bias', 'kernel', 'scale', 'table'], 0],
    [['bias', 'kernel', 'scale', 'table'], 16],
    [['table', 'bias'], 0],
    [['kernel'], 0],
    [['scale', 'kernel', 'table', 'bias'], 90],
  ];
  const gradient = (name: string, worker: number, step: number) =>
    Float32Array.from({ length: lengths[name] as number }, (_, index) => (step + 1) / (3 + worker + index));

  /** What the plug-in must return if packs do not matter: error and rounding of each element alone. */
  function expectedSteps(devices: number): Map<string, number[]>[] {
    const errors = [0, 1].map(() => new Map<string, number>());
    return steps.map(([names], step) => {
      const sumOf = (name: string, index: number) => {
        const sent = [0, 1].map((worker) => {
          const key = `${name} ${index}`;
          const own = errors[worker] as Map<string, number>;
          const here = devices * (gradient(name, worker, step)[index] as number);
          const wanted = Math.fround(here + (own.get(key) ?? 0));
          own.set(key, Math.fround(wanted - rounded(wanted)));
          return rounded(wanted);
        });
        return rounded(Math.fround((sent[0] as number) + (sent[1] as number)));
      };
      return new Map(
        names.map((name) => [name, Array.from(gradient(name, 0, step), (_, index) => sumOf(name, index))]),
      );
    });
  }

  it.each([
    [1, 1],
    [1, 3],
    [2, 2],
  ])('finds it by name in any packs, with %i devices per worker and %i packs', async (devices, numPacks) => {
    const plugin = definePlugin({
      name: 'error-feedback',
      module: import.meta.url,
      create: (_, world) => new ErrorFeedback(numPacks, world),
    });
    const results = await onWorkers([2, devices], plugin, async (strategy) => {
      const { inputPipelineId: worker } = strategy.inputContext;
      const sums: Map<string, number[]>[] = [];
      for (const [step, [names, bytesPerPack]] of steps.entries()) {
        const result = await strategy.run((context) =>
          context.allReduce(
            'sum',
            names.map((name) => gradient(name, worker, step)),
            { names, bytesPerPack },
          ),
        );
        const [own] = strategy.experimentalLocalResults(result as unknown) as readonly (readonly Tensor[])[];
        sums.push(new Map(names.map((name, index) => [name, Array.from(own?.[index]?.data ?? [], Number)])));
      }
      return sums;
    });
    const expected = expectedSteps(devices);
    expect(results).toEqual([expected, expected]);
  });
});
