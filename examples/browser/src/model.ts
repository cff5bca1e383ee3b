// The model in TensorFlow.js. Only workers import this module: the thread of the page stays free.
import * as tf from '@tensorflow/tfjs';
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import { digits } from '../../train/digits.ts';
import { batchSize, digitsPerRound, units, type Weights } from './course.ts';
import { wasmFiles } from './wasm-files.ts';

const seed = 1;

// No training digit has this number.
const firstTestDigit = 2 ** 30;
const testDigits = 480;

/** One of several replicas that share each batch. */
interface Share {
  readonly id: number;
  readonly replicas: number;
}

/** Starts TensorFlow.js on WebAssembly. `threads`: how many it may start for itself. */
export async function startTensorFlow(threads: number): Promise<void> {
  setWasmPaths(wasmFiles);
  tf.enableProdMode();
  if (threads > 1) setThreadsCount(threads);
  else tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
}

/** A new model. All replicas make the same one. */
export function buildModel(optimizer: tf.Optimizer): tf.Sequential {
  const layers = units.slice(1).map((outputs, index) =>
    tf.layers.dense({
      units: outputs,
      activation: index < units.length - 2 ? 'relu' : 'softmax',
      kernelInitializer: tf.initializers.glorotUniform({ seed: seed + index }),
      ...(index === 0 ? { inputShape: [units[0]] } : {}),
    }),
  );
  const model = tf.sequential({ layers });
  model.compile({ optimizer, loss: 'categoricalCrossentropy' });
  return model;
}

/** Trains on this replica's part of the digits of a round. Returns how long training took, in seconds. */
export async function trainRound(
  model: tf.Sequential,
  round: number,
  { id, replicas }: Share,
  callbacks: tf.ModelFitArgs['callbacks'] = [],
): Promise<number> {
  const count = digitsPerRound / replicas;
  const { images, labels } = digits({ seed, first: round * digitsPerRound + id, stride: replicas, count });
  const x = tf.tensor2d(images, [count, units[0]]);
  const y = tf.tidy(() => tf.oneHot(tf.tensor1d(labels, 'int32'), 10).toFloat());
  const begin = performance.now();
  await model.fit(x, y, {
    batchSize: batchSize / replicas,
    shuffle: false,
    verbose: 0,
    // A worker has no frame to draw.
    yieldEvery: 'never',
    callbacks,
  });
  tf.dispose([x, y]);
  return (performance.now() - begin) / 1000;
}

let test: { readonly x: tf.Tensor2D; readonly labels: Uint8Array } | undefined;

/** How many of this replica's test digits the model reads correctly, and how many there are. */
export function countCorrect(model: tf.Sequential, { id, replicas }: Share): readonly [correct: number, all: number] {
  const count = testDigits / replicas;
  if (!test) {
    const { images, labels } = digits({ seed, first: firstTestDigit + id, stride: replicas, count });
    test = { x: tf.tensor2d(images, [count, units[0]]), labels };
  }
  const { x, labels } = test;
  const read = tf.tidy(() => (model.predict(x) as tf.Tensor).argMax(1).dataSync());
  return [read.filter((label, index) => label === labels[index]).length, count];
}

export function weightsOf(model: tf.Sequential): Weights {
  return model.getWeights().map((weight) => weight.dataSync() as Float32Array);
}

export function setWeights(model: tf.Sequential, weights: Weights): void {
  tf.tidy(() =>
    model.setWeights(weights.map((values, index) => tf.tensor(values, model.getWeights()[index]?.shape as number[]))),
  );
}
