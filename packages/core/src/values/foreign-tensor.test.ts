import { expect, it } from 'vitest';
import { foreignTensor, foreignTensorIn } from './foreign-tensor.js';
import { tensor } from './tensor.js';

class TfTensor {
  readonly dataId = {};
  readonly dtype: string = 'float32';
  readonly shape = [1];

  data() {
    return Promise.resolve(this.dataSync());
  }

  dataSync() {
    return Float32Array.of(1);
  }
}

class TfVariable extends TfTensor {
  assign() {}
}

/** As of jax-js. */
const array = { dtype: 'float32', shape: [1], data: async () => Float32Array.of(1), js: () => [1] };
/** As of ONNX Runtime. */
const session = { dims: [1], type: 'float32', data: Float32Array.of(1), getData: async () => Float32Array.of(1) };

it.each([
  ['a tf.Tensor', new TfTensor()],
  ['a tf.Variable', new TfVariable()],
  ['a tensor of another library', array],
  ['a tensor of another library', session],
])('recognizes %s by its fields', (kind, value) => {
  expect(foreignTensor(value)).toBe(kind);
  const holder = { deep: new Map([['key', new Set([[value]])]]), itself: {} };
  holder.itself = holder;
  expect(foreignTensorIn(holder)).toBe(kind);
});

it.each([tensor([1]), Float32Array.of(1), 1, undefined, null, { shape: [1], data: 'path' }, new Date(), () => 1])(
  'finds no foreign tensor in %s',
  (value) => {
    expect(foreignTensorIn(value)).toBeUndefined();
    expect(foreignTensorIn([{ value }])).toBeUndefined();
  },
);

it('finds a foreign tensor at the end of a long chain', () => {
  let chain: object = new TfTensor();
  for (let link = 0; link < 100_000; link++) chain = { chain };
  expect(foreignTensorIn(chain)).toBe('a tf.Tensor');
});
