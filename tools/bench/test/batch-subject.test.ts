import { jsEngine, type Tensor, wasmEngine } from '@coll/core';
import { createThreadGroup, threadWorld } from '@coll/core/plugin';
import { DirectAllReduce, directAlgorithm } from '@coll/direct';
import { expect, it } from 'vitest';
import { batchSubject, piecesSubject, replicaBatchSubject } from '../src/subjects/batch-subject.js';
import { GradientBuffers } from '../src/subjects/buffers.js';
import { checkFirstCall } from '../src/subjects/subject.js';
import type { Trial } from '../src/trial.js';

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
