import * as tf from '@tensorflow/tfjs';
import '@tensorflow/tfjs-backend-wasm';
import { beforeAll, describe, expect, it } from 'vitest';
import { lastingMemoryOf, memoryOf } from './gradient-memory.js';
import type { TfGradient } from './tensorflow.js';

const variablesFor = (gradients: readonly TfGradient[]) =>
  gradients.map((gradient) => tf.variable(tf.zeros(gradient?.shape ?? [2])));

const memoryFor = (gradients: readonly TfGradient[]) => memoryOf(tf, variablesFor(gradients), gradients, true);

describe.each(['cpu', 'wasm'])('gradient memory on the %s backend', (backend) => {
  beforeAll(async () => {
    tf.enableProdMode();
    await tf.setBackend(backend);
  });

  it("is the tensor's own memory on the wasm backend if nothing else uses it", () => {
    const gradient = tf.tensor1d([1, 2]);
    const [memory] = memoryFor([gradient]);
    expect(memory?.tensor).toBe(backend === 'wasm' ? gradient : undefined);
    memory?.output.set([3, 4]);
    expect(Array.from(gradient.dataSync())).toEqual(backend === 'wasm' ? [3, 4] : [1, 2]);
  });

  it("is not overwritten if it is the program's own typed array", () => {
    const array = Float32Array.of(1, 2);
    memoryFor([tf.tensor1d(array)])[0]?.output.fill(9);
    expect(array).toEqual(Float32Array.of(1, 2));
  });

  it('is only read if the caller does not own it', () => {
    const gradient = tf.tensor1d([1, 2]);
    const [memory] = memoryOf(tf, variablesFor([gradient]), [gradient], false);
    memory?.output.fill(9);
    expect(Array.from(gradient.dataSync())).toEqual([1, 2]);
  });

  it('is not overwritten if two gradients share it', () => {
    const gradient = tf.tensor1d([1, 2]);
    for (const memory of memoryFor([gradient, gradient.reshape([2])])) {
      expect(memory?.tensor).toBeUndefined();
      expect(Array.from(memory?.input ?? [])).toEqual([1, 2]);
      memory?.output.fill(9);
    }
    expect(Array.from(gradient.dataSync())).toEqual([1, 2]);
  });

  it('is not overwritten if two variables have the same gradient tensor', () => {
    const gradient = tf.tensor1d([1, 2]);
    expect(memoryFor([gradient, gradient]).map((memory) => memory?.tensor)).toEqual([undefined, undefined]);
  });

  it("is not overwritten if another tensor of the user's program shares it", () => {
    const kept = tf.tensor1d([1, 2]);
    const loss = tf.customGrad((x) => ({ value: tf.sum(x as tf.Tensor), gradFunc: () => [kept.clone()] }));
    const variable = tf.variable(tf.tensor1d([0, 0]));
    const { grads } = tf.variableGrads(() => loss(variable) as tf.Scalar, [variable]);
    memoryFor([grads[variable.name]])[0]?.output.fill(9);
    expect(Array.from(kept.dataSync())).toEqual([1, 2]);
  });

  it('is a copy if TensorFlow.js stores elements of another dtype than the gradient has', () => {
    const gradient = tf.tidy(() => tf.tensor1d([1, 2], 'int32').toFloat());
    const [memory] = memoryFor([gradient]);
    expect(memory?.input).toEqual(Float32Array.of(1, 2));
    memory?.output.set([0.5, 1.5]);
    expect(Array.from((memory?.tensor ? gradient.dataSync() : memory?.output) ?? [])).toEqual([0.5, 1.5]);
  });

  it('is undefined for a missing gradient', () => {
    expect(memoryFor([undefined, null])).toEqual([undefined, undefined]);
  });

  it('stays valid while TensorFlow.js allocates memory during awaited reductions', async () => {
    const gradient = tf.tensor1d([1, 2]);
    const [memory] = await lastingMemoryOf(variablesFor([gradient]), [gradient]);
    tf.zeros([1 << 22]).dispose();
    expect(memory?.input.length).toBe(2);
    expect(memory?.tensor).toBeUndefined();
  });

  it('refuses gradients of another dtype or size, and names the variable', () => {
    const variable = tf.variable(tf.zeros([3]), true, `v-${backend}`);
    const copying = (gradient: tf.Tensor) => () => memoryOf(tf, [variable], [gradient], true);
    expect(copying(tf.zeros([2]))).toThrow(
      `the gradient of variable "v-${backend}" is float32 [2]; it must be float32 of the variable's shape [3]`,
    );
    expect(copying(tf.zeros([3], 'int32'))).toThrow('is int32 [3]');
  });

  it('is read from the backend of the tensor even if another backend is current', async () => {
    const gradient = tf.tensor1d([1, 2]);
    await tf.setBackend(backend === 'cpu' ? 'wasm' : 'cpu');
    const [memory] = memoryFor([gradient]);
    expect(Array.from(memory?.input ?? [])).toEqual([1, 2]);
    expect(memory?.tensor).toBeUndefined();
    await tf.setBackend(backend);
  });
});
