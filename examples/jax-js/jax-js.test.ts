import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { jit, numpy as np, tree, valueAndGrad } from '@jax-js/jax';
import { expect, it } from 'vitest';
import { points } from './data.ts';
import { initialParams, loss } from './model.ts';
import { sgd } from './optimizers.ts';

const program = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

/** The loss and the accuracy of each epoch that a program prints. */
async function figuresOf(...command: readonly string[]): Promise<number[][]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command);
  expect(stderr).toBe('');
  return Array.from(stdout.matchAll(/epoch \d+: loss (\S+), accuracy (\S+)/g), ([, loss, share]) => [
    Number(loss),
    Number(share),
  ]);
}

it('the script learns, and has the same figures in threads and in processes', async () => {
  const alone = await figuresOf(program('before'));
  expect(alone.length).toBe(10);
  expect(alone.at(-1)?.[1]).toBeGreaterThan(0.95);
  for (const figures of [
    await figuresOf(program('main')),
    await figuresOf(launcher, 'run', '-n', '2', program('main')),
  ]) {
    expect(figures.length).toBe(10);
    for (const [epoch, [loss = 0, share = 0]] of figures.entries()) {
      expect(loss).toBeCloseTo(alone[epoch]?.[0] as number, 2);
      expect(share).toBeCloseTo(alone[epoch]?.[1] as number, 1);
    }
  }
});

it('plain gradient descent lowers the loss, too', () => {
  const { x, y } = points().test;
  const step = jit(valueAndGrad(loss));
  let params = initialParams();
  const losses: number[] = [];
  for (let k = 0; k < 5; k++) {
    const [value, gradients] = step(tree.ref(params), np.array(x).reshape([-1, 2]), np.array(y));
    params = sgd(params, gradients);
    losses.push(value.item());
  }
  expect(losses).toEqual([...losses].sort((a, b) => b - a));
});
