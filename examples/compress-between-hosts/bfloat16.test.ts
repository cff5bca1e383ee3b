import { type Communicator, fromBfloat16, type ProcessGroup, type Segments, type Tensor, toBfloat16 } from '@coll/core';
import { ForwardingCommunicator, listOf } from '@coll/core/plugin';
import { MultiWorkerMirroredStrategy, type MultiWorkerMirroredStrategyOptions } from '@coll/strategy';
import { crossDeviceOpsSuite } from '@coll/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { closeGroups, cpus, groupsHere, groupWith } from '../../packages/strategy/test/workers-here.js';
import { bfloat16 } from './bfloat16.js';

afterEach(closeGroups);

const rounded = (value: number) => fromBfloat16(toBfloat16(value));
const bytesOf = (buffer: Segments | undefined) =>
  listOf(buffer ?? []).reduce((sum, { data }) => sum + data.byteLength, 0);

crossDeviceOpsSuite({ test: it, describe, plugin: bfloat16, replicas: [2], bitsIndependentOfPacking: true });

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
  return groupWith(group, { communicator: (algorithm) => new Counting(group.communicator(algorithm), sent) });
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
});
