import { jsEngine, type Tensor, wasmEngine } from '@coll/core';
import { createThreadGroup, threadWorld } from '@coll/core/plugin';
import { DirectAllReduce, directAlgorithm } from '@coll/direct';
import { expect, it, vi } from 'vitest';
import { batchSubject, piecesSubject, replicaBatchSubject } from '../src/subjects/batch-subject.js';
import { GradientBuffers } from '../src/subjects/buffers.js';
import { checkFirstCall } from '../src/subjects/subject.js';
import { callMemory, type Trial } from '../src/trial.js';

const trial: Trial = {
  suite: 'packing',
  name: 'tiny fused direct',
  work: { type: 'batch', bytesPerPack: 0 },
  gradients: 'tiny',
  engine: 'js',
  form: 'controller',
  algorithm: 'direct',
  input: 'still',
  place: 'in',
  ranks: 2,
  counts: [5, 1, 30],
};

it('the batch benchmark reduces all tensors of all replicas in one thread', async () => {
  const subject = batchSubject(new DirectAllReduce(), new GradientBuffers(), trial);
  await expect(checkFirstCall(subject, 'batch')).resolves.toBeUndefined();
});

const memories = callMemory.flatMap((memory) => (['in', 'out'] as const).map((place) => ({ memory, place })));

it.each(memories)('the batch benchmark reduces with $memory memory, $place place', async ({ memory, place }) => {
  const batch: Trial = { ...trial, place, work: { type: 'batch', bytesPerPack: 0, memory } };
  const one: Trial = { ...batch, work: { type: 'reduce', memory }, gradients: 'one', counts: [7] };
  for (const wanted of [batch, one]) {
    const subject = batchSubject(new DirectAllReduce(), new GradientBuffers(), wanted);
    await expect(checkFirstCall(subject, 'batch')).resolves.toBeUndefined();
    await subject.call();
  }
});

it('the batch benchmark calls `reduce` for one value, and `batchReduce` for a list', async () => {
  const ops = new DirectAllReduce();
  const [reduce, batchReduce] = [vi.spyOn(ops, 'reduce'), vi.spyOn(ops, 'batchReduce')];
  const one: Trial = { ...trial, work: { type: 'reduce', memory: 'result' }, gradients: 'one', counts: [7] };
  await batchSubject(ops, new GradientBuffers(), one).call();
  expect([reduce.mock.calls.length, batchReduce.mock.calls.length]).toEqual([1, 0]);
  await batchSubject(ops, new GradientBuffers(), trial).call();
  expect([reduce.mock.calls.length, batchReduce.mock.calls.length]).toEqual([1, 1]);
});

it('buffers without a network are kept by their lengths', () => {
  const { gradients: _, ...unnamed } = trial;
  const buffers = new GradientBuffers();
  expect(buffers.take({ ...unnamed, counts: [3] }, 0)[0]?.data).toHaveLength(3);
  expect(buffers.take({ ...unnamed, counts: [4] }, 0)[0]?.data).toHaveLength(4);
  expect(buffers.take(unnamed, 0)).toBe(buffers.take(unnamed, 0));
});

it('the batch benchmark detects a wrong result tensor', async () => {
  class Spoiling extends DirectAllReduce {
    override async batchReduce(...args: Parameters<DirectAllReduce['batchReduce']>) {
      const results = await super.batchReduce(...args);
      const last = (results[2] as unknown as { values: readonly Tensor[] }).values[1] as Tensor;
      last.data[7] = 0;
      return results as never;
    }
  }
  const subject = batchSubject(new Spoiling(), new GradientBuffers(), trial);
  await expect(checkFirstCall(subject, 'batch')).rejects.toThrow(
    'batch: tensor 2: wrong result on rank 1: element 7 is 0, not 3',
  );
});

it.each(['sync', 'async'] as const)(
  'the batch benchmark reduces the tensors of a replica in its thread, %s',
  async (form) => {
    const group = createThreadGroup({ size: 1 });
    const ops = new DirectAllReduce({}, threadWorld(group, 0, ['cpu:0'], jsEngine));
    const subject = replicaBatchSubject(ops, new GradientBuffers(), 0, { ...trial, form, ranks: 1 });
    await expect(checkFirstCall(subject, 'batch')).resolves.toBeUndefined();
  },
);

it.each(['sync', 'async'] as const)('the batch benchmark reduces lists as segments of one buffer, %s', async (form) => {
  const communicator = wasmEngine.communicator(2, directAlgorithm());
  const subject = piecesSubject(communicator, new GradientBuffers(), { ...trial, work: { type: 'pieces' }, form });
  await expect(checkFirstCall(subject, 'pieces')).resolves.toBeUndefined();
});
