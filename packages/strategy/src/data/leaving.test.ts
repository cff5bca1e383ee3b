import type { PerReplica } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { deferred } from '../../test/deferred.js';
import { cpu } from '../../test/strategies.js';
import { dispose } from './batch.js';
import { DatasetReader } from './dataset-reader.js';
import { distributeDatasetsFromFunction } from './datasets-from-function.js';
import { distributeDataset } from './distribute-dataset.js';
import { InputContext } from './input-context.js';

/**
 * Creates test doubles of TensorFlow.js tensors and tracks those that have not been disposed of.
 */
class CountedTensors {
  readonly alive = new Set<object>();

  make(size: number) {
    const made = {
      dataId: {},
      dtype: 'float32',
      shape: [size],
      data: async () => new Float32Array(size),
      slice: (_: number, length: number): object => this.make(length),
      dispose: () => expect(this.alive.delete(made)).toBe(true),
    };
    this.alive.add(made);
    return made;
  }
}

/** A lazy dataset, whose elements belong to the reader. */
const lazy = (next: () => Promise<IteratorResult<unknown>>) => ({ iterator: async () => ({ next }) });

const place = { numInputPipelines: 1, inputPipelineId: 0, numReplicasInSync: 2 };

describe('leaving a loop over a dataset while its next batch is being read', () => {
  it.each([1, 2])('waits for the batch and disposes of its tensors, with %i workers', async (workers) => {
    const tensors = new CountedTensors();
    const begun = deferred<void>();
    const late = deferred<IteratorResult<unknown>>();
    let reads = 0;
    const dataset = lazy(async () => {
      reads += 1;
      if (reads === 1) return { done: false, value: tensors.make(4) };
      begun.resolve();
      return late.promise;
    });
    const context = new InputContext({ ...place, numInputPipelines: workers, numReplicasInSync: 2 * workers });
    const steps: unknown[] = [];
    let isLeft = false;
    const left = (async () => {
      for await (const step of distributeDataset(dataset as never, context, cpu(2), { autoShardPolicy: 'OFF' })) {
        steps.push(step);
        if (steps.length < workers) continue;
        await begun.promise;
        break;
      }
      isLeft = true;
    })();
    await begun.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(isLeft).toBe(false);
    late.resolve({ done: false, value: tensors.make(4) });
    await left;
    expect([steps.length, reads]).toEqual([workers, 2]);
    expect(tensors.alive).toEqual(new Set((steps as PerReplica<object>[]).flatMap(({ values }) => values)));
  });

  it('does not throw if the dataset cannot be opened meanwhile', async () => {
    const opening = deferred<never>();
    const reader = new DatasetReader(opening.promise);
    const read = reader.next();
    const closed = reader.close();
    opening.reject(new Error('torn'));
    // The pending read gets the error.
    await expect(read).rejects.toThrow('torn');
    await closed;
  });
});

describe('the elements of a step that fails because another replica has no element', () => {
  const stepOf = async (datasets: readonly unknown[]) => {
    const make = ({ inputPipelineId }: InputContext) => datasets[inputPipelineId] as never;
    const options = { experimentalReplicationMode: 'PER_REPLICA' } as const;
    const dataset = distributeDatasetsFromFunction(make, new InputContext(place), cpu(2), options);
    return dataset[Symbol.asyncIterator]().next();
  };
  const torn = lazy(() => Promise.reject(new Error('torn')));

  it('are disposed if the datasets give their elements away', async () => {
    const tensors = new CountedTensors();
    const whole = lazy(async () => ({ done: false, value: { x: tensors.make(1) } }));
    await expect(stepOf([whole, torn])).rejects.toThrow('torn');
    expect(tensors.alive.size).toBe(0);
  });

  it('are not disposed if the datasets keep their elements', async () => {
    const tensors = new CountedTensors();
    const kept = tensors.make(1);
    await expect(stepOf([[kept], [Promise.reject(new Error('torn'))]])).rejects.toThrow('torn');
    expect(tensors.alive).toEqual(new Set([kept]));
    dispose(kept);
  });
});
