import { expect, it } from 'vitest';
import { JoinedSegments } from '../runtime/joined-segments.js';
import { tensor, zeros } from '../values/tensor.js';
import { bytesOfStaging, inputSlot, outputSlot, StagingBuffer, type StagingShape } from './staging-buffer.js';

const shape: StagingShape = {
  dtype: 'int8',
  resultDType: 'float32',
  inputLength: 3,
  outputLength: 3,
  slots: 2,
  isInPlace: false,
};

it('a staging buffer gives every slot its own cache lines', () => {
  const slots = [0, 1].flatMap((slot) => [inputSlot(shape, slot), outputSlot(shape, slot)]);
  expect([slots, bytesOfStaging(shape)]).toEqual([[0, 128, 64, 192], 256]);
});

it('a staging buffer stores results over the inputs if both have the same dtype and length', () => {
  const inPlace: StagingShape = { ...shape, resultDType: 'int8', isInPlace: true };
  const slots = [0, 1].flatMap((slot) => [inputSlot(inPlace, slot), outputSlot(inPlace, slot)]);
  expect([slots, bytesOfStaging(inPlace)]).toEqual([[0, 0, 64, 64], 128]);
});

it('a staging buffer uses its slots in rotation for the blocks of a buffer, whose last block may be shorter', () => {
  const bytes = new SharedArrayBuffer(64 + bytesOfStaging(shape));
  const output = zeros('float32', [5]);
  const input = new JoinedSegments([tensor(Int8Array.of(1, 2, 3, 4, 5))]);
  const stage = new StagingBuffer({ bytes, at: 64 }, shape, input, new JoinedSegments([output]));
  const slot = (at: number) => [...new Int8Array(bytes, 64 + at, 4)];
  stage.load(0);
  stage.load(1);
  expect([0, 1].map((block) => slot(inputSlot(shape, block)))).toEqual([
    [1, 2, 3, 0],
    [4, 5, 0, 0],
  ]);
  new Float32Array(bytes, 64 + outputSlot(shape, 0), 3).set([10, 20, 30]);
  new Float32Array(bytes, 64 + outputSlot(shape, 1), 3).set([40, 50, 60]);
  stage.store(0);
  expect([...output.data]).toEqual([10, 20, 30, 0, 0]);
  stage.store(1);
  expect([...output.data]).toEqual([10, 20, 30, 40, 50]);
});

it('a staging buffer loads nothing without an input and stores nothing without an output', () => {
  const stage = new StagingBuffer(
    { bytes: new SharedArrayBuffer(bytesOfStaging(shape)), at: 0 },
    shape,
    undefined,
    undefined,
  );
  stage.load(0);
  stage.store(0);
  expect(stage.isWhole).toBe(true);
});
