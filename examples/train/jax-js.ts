import { dataParallel } from '@coll/jax-js';
import type { ReplicaContext } from '@coll/strategy';
import { defaultDevice, init, type Array as JaxArray, jit, nn, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import { type Digits, pixels } from './digits.ts';
import { type Course, type Model, momentum, rate, units } from './framework.ts';
import { randomFrom, spread } from './random.ts';

type Layer = { readonly weights: JaxArray; readonly biases: JaxArray };

type Parameters = Layer[];

/** Builds the model in jax-js on WebAssembly. */
export async function buildModel({ seed, epochs, batchSize }: Course, context: ReplicaContext): Promise<Model> {
  await init('wasm');
  defaultDevice('wasm');
  const share = batchSize / context.numReplicasInSync;
  let parameters = initialParameters(seed);
  let velocity = tree.map((array: JaxArray) => np.zerosLike(array), tree.ref(parameters)) as Parameters;
  const step = dataParallel(context, jit(valueAndGrad(lossOf)));

  const trainOn = async (digits: Digits) => {
    const [loss, gradients] = await step(tree.ref(parameters), imagesOf(digits), labelsOf(digits));
    [parameters, velocity] = descend(parameters, velocity, gradients);
    return (await loss.jsAsync()) as number;
  };

  return {
    async train(digits, onStep) {
      for (let epoch = 0; epoch < epochs; epoch++) {
        for (let first = 0; first < digits.count; first += share)
          onStep(await trainOn(slice(digits, first, first + share)));
      }
    },
    async countCorrect(digits) {
      const read = (await np.argmax(outputsOf(tree.ref(parameters), imagesOf(digits)), 1).data()) as Int32Array;
      return read.filter((label, index) => label === digits.labels[index]).length;
    },
    async weights() {
      const flat = np.concatenate(tree.leaves(tree.ref(parameters)).map((array) => np.ravel(array)));
      return (await flat.data()) as Float32Array;
    },
  };
}

/** Mean cross-entropy of a batch. */
function lossOf(parameters: Parameters, images: JaxArray, labels: JaxArray): JaxArray {
  const logProbabilities = nn.logSoftmax(outputsOf(parameters, images));
  return np.mean(np.sum(logProbabilities.mul(nn.oneHot(labels, 10)), 1)).neg();
}

function outputsOf(parameters: Parameters, images: JaxArray): JaxArray {
  return parameters.reduce((inputs, { weights, biases }, index) => {
    const outputs = np.matmul(inputs, weights).add(biases);
    return index < parameters.length - 1 ? nn.relu(outputs) : outputs;
  }, images);
}

/** A step of SGD with momentum. */
const descend = jit((parameters: Parameters, velocity: Parameters, gradients: Parameters): [Parameters, Parameters] => {
  const next = tree.map((v: JaxArray, g: JaxArray) => v.mul(momentum).add(g), velocity, gradients) as Parameters;
  const moved = tree.map((p: JaxArray, v: JaxArray) => p.sub(v.mul(rate)), parameters, tree.ref(next)) as Parameters;
  return [moved, next];
});

/** Normal weights whose deviation suits the size of a layer (Glorot and Bengio, 2010), equal on all replicas. */
function initialParameters(seed: number): Parameters {
  return units.slice(1).map((outputs, index) => {
    const inputs = units[index] as number;
    const random = randomFrom(seed, index);
    const deviation = Math.sqrt(2 / (inputs + outputs));
    const weights = Float32Array.from({ length: inputs * outputs }, () => spread(random, deviation));
    return { weights: np.array(weights, { shape: [inputs, outputs] }), biases: np.zeros([outputs]) };
  });
}

function imagesOf({ images, count }: Digits): JaxArray {
  return np.array(images as Float32Array<ArrayBuffer>, { shape: [count, pixels] });
}

function labelsOf({ labels }: Digits): JaxArray {
  return np.array(Int32Array.from(labels));
}

function slice({ images, labels }: Digits, begin: number, end: number): Digits {
  return {
    count: end - begin,
    images: images.slice(begin * pixels, end * pixels),
    labels: labels.subarray(begin, end),
  };
}
