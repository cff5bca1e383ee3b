import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { trainingMeterOf } from '@coll/strategy/internal';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { failing, Results } from '../test/fixtures/callbacks.ts';
import { unisonContext } from '../test/unison-context.ts';
import { distributedCallbacks } from './distributed-callbacks.js';
import { presentStepOf } from './present-step.js';

const fixtures = new URL('../test/fixtures/callbacks.ts', import.meta.url);

const strategyOf = (numReplicas: number) => {
  const devices = Array.from({ length: numReplicas }, (_, index) => `cpu:${index}`);
  return new MirroredStrategy({ devices, crossDeviceOps: direct });
};

async function run(numReplicas: number): Promise<readonly Results[]> {
  await using strategy = strategyOf(numReplicas);
  return strategy.experimentalLocalResults(await strategy.run(fixtures)) as readonly Results[];
}

function expectClose(actual: unknown, expected: unknown): void {
  const numbers = [actual, expected].map(
    (value) =>
      JSON.stringify(value)
        .match(/[\d.e-]{3,}/g)
        ?.map(Number) ?? [],
  );
  const [some, others] = numbers as [number[], number[]];
  expect(some.length).toBe(others.length);
  expect(some.length).toBeGreaterThan(0);
  for (const [index, value] of some.entries()) expect(value).toBeCloseTo(others[index] as number, 5);
}

describe('distributedCallbacks', () => {
  let alone: Results;
  let first: Results;
  let second: Results;

  beforeAll(async () => {
    [alone] = (await run(1)) as [Results];
    [first, second] = (await run(2)) as [Results, Results];
  });

  it('gives callbacks and history the metrics of a single replica on all data', () => {
    for (const { averaged } of [first, second]) {
      expect(averaged.seen).toEqual(first.averaged.seen);
      expectClose(averaged.seen, alone.averaged.seen);
      expectClose(averaged.history, alone.averaged.history);
      expectClose(averaged.weights, alone.averaged.weights);
      expect(Object.keys(averaged.history)).toEqual(['val_loss', 'val_acc', 'loss', 'acc']);
    }
    expect(second.averaged.weights).toEqual(first.averaged.weights);
  });

  it('calls subclasses of tf.Callback with model, parameters and numbers', () => {
    for (const { averaged } of [alone, first, second])
      expect(averaged.calls).toEqual(['train true 2', 'epoch 0 number', 'epoch 1 number', 'end']);
  });

  it('keeps no tensors', () => {
    expect(first.averaged.leaked).toBe(alone.averaged.leaked);
    expect(first['batch means'].leaked).toBe(alone['batch means'].leaked);
  });

  it('averages metrics of validation over the rows of each share, without repeated ones', () => {
    for (const results of [first, second]) expectClose(results['shared validation'].seen, alone.averaged.seen);
  });

  it('refuses different metrics of validation without validationRows', () => {
    for (const { 'shared validation without rows': failure } of [first, second]) {
      expect(failure).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE', rank: 1 });
      expect(failure?.message).toMatch(
        /^distributedCallbacks: val_loss differs between replicas at the end of epoch 0: [\d.]+ on replica 0, [\d.]+ on replica 1; .* pass the option validationRows/,
      );
    }
    expect(alone['shared validation without rows']).toBeUndefined();
  });

  it('averages metrics of batches if asked', () => {
    for (const results of [first, second]) expectClose(results['batch means'].losses, alone['batch means'].losses);
  });

  it('ends all replicas in the same epoch by tf.callbacks.earlyStopping', () => {
    expect(alone['early stopping'].seen.length).toBeLessThan(20);
    for (const { 'early stopping': stopped } of [first, second]) {
      expect(stopped.steps).toEqual(alone['early stopping'].steps);
      expect(stopped.weights).toEqual(first['early stopping'].weights);
    }
  });

  it.each([
    ['stop in a batch', ['batch 0', 'batch 1', 'epoch 0']],
    ['stop in the last batch', ['batch 0', 'batch 1', 'batch 2', 'epoch 0']],
    ['stop in an epoch', [0, 1].flatMap((epoch) => ['batch 0', 'batch 1', 'batch 2', `epoch ${epoch}`])],
  ] as const)('ends all replicas after the same step if one wants a %s', (name, steps) => {
    for (const { [name]: stopped } of [first, second]) {
      expect(stopped.steps).toEqual(steps);
      expect(stopped.weights).toEqual(first[name].weights);
      expect(stopped.stopTraining).toBe(true);
    }
  });

  it('expects SIGTERM after the training if the process of another replica got it, and not if a program ends it', () => {
    for (const results of [first, second]) {
      const { 'request in a batch': inBatch, 'request in an epoch': inEpoch, 'stop with requests': stop } = results;
      expect(inBatch).toEqual({ steps: first['stop in a batch'].steps, calls: ['accept', 'expect', 'refuse'] });
      expect(inEpoch).toEqual({ steps: first['stop in an epoch'].steps, calls: ['accept', 'expect', 'refuse'] });
      expect(stop).toEqual({ steps: first['stop in a batch'].steps, calls: ['accept', 'refuse'] });
    }
  });

  it.each(['adam', 'sgd'] as const)(
    'changes the learning rate of %s on all replicas if one changes it',
    (optimizer) => {
      const name = `learning rate of ${optimizer}` as const;
      for (const { [name]: changed } of [first, second]) {
        expect(changed.weights).toEqual(first[name].weights);
        expectClose(changed.weights, alone[name].weights);
      }
      expect(first[name].learningRate).toBe(alone[name].learningRate);
      expect(second[name].learningRate).toBe(alone[name].learningRate);
    },
  );

  it('refuses different metrics', () => {
    for (const { 'other metrics': failure } of [first, second]) {
      expect(failure).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_MISMATCH', rank: 1 });
      expect(failure?.message).toMatch(
        /^replicas have different metrics: replica 1 ends epoch 0 with the metrics loss, the others end epoch 0 with the metrics acc loss; compile/,
      );
    }
  });

  it('works in fitDataset', () => {
    for (const { fitDataset } of [first, second]) {
      expectClose(fitDataset.history, alone.fitDataset.history);
      expect(fitDataset.history['loss']?.length).toBe(2);
      expect(fitDataset.weights).toEqual(first.fitDataset.weights);
    }
  });

  it('averages moving statistics before validation', () => {
    const [some, others] = [first['moving statistics'], second['moving statistics']];
    expect(others).toEqual(some);
    expect(some.weights.every(Number.isFinite)).toBe(true);
  });

  it('works in a loop of its own, which reads stopTraining', () => {
    for (const { 'own loop': loop } of [first, second]) {
      expect(loop.seen).toEqual(first['own loop'].seen);
      expectClose(loop.seen.slice(0, 2), alone['own loop'].seen.slice(0, 2));
      expect(loop.steps).toBe(8);
      expect(loop.weights).toEqual(first['own loop'].weights);
    }
    expect(alone['own loop'].steps).toBe(7);
  });

  it('ends the run if a callback of one replica throws', async () => {
    await using strategy = strategyOf(2);
    const failed = strategy.run<{ failing: typeof failing }, 'failing'>(fixtures, { exportName: 'failing' });
    await expect(failed).rejects.toThrow('a callback has failed');
  });

  it('refuses a tf without the classes of callbacks in fit', async () => {
    const context = { numReplicasInSync: 1, replicaIdInSyncGroup: 0, allReduce: () => undefined };
    const { Callback: _, ...core } = tf;
    const model = tf.sequential({ layers: [tf.layers.dense({ inputShape: [1], units: 1 })] });
    model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
    const callbacks = distributedCallbacks(core, [], context as never);
    const fit = model.fit(tf.ones([2, 1]), tf.ones([2, 1]), { verbose: 0, callbacks });
    await expect(fit).rejects.toThrow(/^distributedCallbacks: tf must be the TensorFlow.js that made the model/);
  });

  it.each([
    ['callbacks', 5, {}, /: callbacks must be a callback of TensorFlow.js or a list of callbacks, got 5/],
    ['batchLogs', [], { batchLogs: 'all' }, /: batchLogs must be 'local' or 'mean', got "all"/],
    ['validationRows', [], { validationRows: 0.5 }, /: validationRows must be the number of rows .*, got 0.5/],
    ['maxSeconds', [], { maxSeconds: 0 }, /: maxSeconds must be a positive number, got 0/],
    ['onReplica0', [], { onReplica0: [undefined] }, /: onReplica0 must be a callback .*, got undefined/],
  ])('refuses a wrong value of %s', (_, callbacks, options, message) => {
    const context = { numReplicasInSync: 1, replicaIdInSyncGroup: 0, allReduce: () => undefined };
    expect(() => distributedCallbacks(tf, callbacks as never, context as never, options as never)).toThrow(message);
  });
});

it('ends a loop that trains a model that is not compiled', async () => {
  const context = { ...unisonContext().context, numReplicasInSync: 1 };
  const callbacks = distributedCallbacks(tf, tf.callbacks.earlyStopping({ monitor: 'loss' }), context);
  callbacks.setModel(tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] }));
  await callbacks.onTrainBegin();
  const stops: boolean[] = [];
  for (let epoch = 0; epoch < 2; epoch++) {
    await callbacks.onEpochBegin(epoch);
    await callbacks.onBatchBegin(0, { size: 4 });
    await callbacks.onBatchEnd(0, { size: 4, loss: 1 });
    await callbacks.onEpochEnd(epoch);
    stops.push(callbacks.stopTraining);
  }
  expect(stops).toEqual([false, true]);
});

it('ends a loop whose callback stops the compiled model, also after fit', async () => {
  const context = { ...unisonContext().context, numReplicasInSync: 1 };
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [1] })] });
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  const losses: (number | undefined)[] = [];
  const stop = (_: number, { loss }: Record<string, number>) => {
    losses.push(loss);
    model.stopTraining = true;
  };
  const callbacks = distributedCallbacks(tf, { onEpochEnd: stop }, context);
  await model.fit(tf.zeros([2, 1]), tf.zeros([2, 1]), { epochs: 3, verbose: 0, callbacks });
  callbacks.setModel(model);
  await callbacks.onTrainBegin();
  expect(callbacks.stopTraining).toBe(false);
  await callbacks.onEpochBegin(0);
  await callbacks.onBatchBegin(0, { size: 4 });
  await callbacks.onBatchEnd(0, { size: 4, loss: 1 });
  await callbacks.onEpochEnd(0);
  expect(callbacks.stopTraining).toBe(true);
  expect(losses).toEqual([0, 1]);
});

it('forgets the size of a step that a callback refused', async () => {
  const context = unisonContext().context;
  const failing = {
    onBatchBegin: () => {
      throw new Error('not today');
    },
  };
  const callbacks = distributedCallbacks(tf, failing, context);
  await expect(callbacks.onBatchBegin(0, { size: 4 })).rejects.toThrow('not today');
  expect(presentStepOf(context).logs).toBeUndefined();
});

it('measures each training anew', async () => {
  const context = unisonContext().context;
  const meter = trainingMeterOf(context);
  for (let step = 0; step < 5; step++) meter.note(1, 4);
  expect(meter.summary(context).next().done).toBe(false);
  await distributedCallbacks(tf, [], context).onTrainBegin();
  expect(meter.summary(context).next()).toEqual({ done: true, value: undefined });
});
