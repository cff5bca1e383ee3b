import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { MirroredStrategy } from '@coll/strategy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, type TestBrowser } from '../../strategy/test/browsers.ts';
import { PageServer } from '../../strategy/test/page-server.ts';
import type { Fitted } from './fixtures/page-replica.ts';

const programs = ['program', 'replica'].map((name) => `${import.meta.dirname}/fixtures/page-${name}.ts`);
const epochs = 3;

const folder = path.dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm'));
const wasm = readdirSync(folder).filter((name) => name.endsWith('.wasm'));
const files = new Map(wasm.map((name) => [`/wasm/${name}`, readFileSync(path.join(folder, name))]));

describe.each(browsers)('TensorFlow.js in two workers of %s', (name, { isHere, launch }) => {
  if (!isHere) return it.skip('needs the browser', () => {});
  let browser: TestBrowser;
  let server: PageServer;

  beforeAll(async () => {
    [server, browser] = await Promise.all([PageServer.open(programs, undefined, files), launch()]);
  });
  afterAll(() => Promise.all([browser?.[Symbol.asyncDispose](), server?.[Symbol.asyncDispose]()]));

  /** What both replicas return. The page logs no errors. */
  async function train<Result = Fitted>(...args: readonly unknown[]): Promise<readonly [Result, Result]> {
    await using page = await browser.open(server.address);
    const results = await page.evaluate<[Result, Result]>(`train(...${JSON.stringify(args)})`);
    expect(await page.errors()).toEqual([]);
    return results;
  }

  it('trains with model.fit on the cpu backend, with the bits of threads of Node.js', async () => {
    await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const module = new URL('./fixtures/page-replica.ts', import.meta.url);
    const wanted = strategy.experimentalLocalResults(await strategy.run(module, { args: ['cpu', epochs] })) as Fitted[];
    const trained = await train('replica', 'cpu', epochs);
    expect(trained).toEqual(wanted.map((each) => ({ ...each, weights: each.weights.map((weight) => [...weight]) })));
    expect(trained[1].weights).toEqual(trained[0].weights);
  });

  it('trains with model.fit on the wasm backend, with equal weights', async () => {
    expectTrained(await train('replica', 'wasm', epochs), 'wasm');
  });

  if (name !== 'Chromium') return;

  it.each(['webgl', 'webgpu'])(
    'trains on the %s backend by asynchronous calls, with equal weights',
    async (backend) => {
      expectTrained(await train('onGpu', backend, 10), backend);
    },
  );

  it('broadcasts weights on the webgl backend, and refuses to read them on the webgpu backend', async () => {
    const [first, second] = await train<readonly number[][]>('spread', 'webgl');
    expect(first.flat().some((weight) => weight !== 0)).toBe(true);
    expect(second).toEqual(first);
    await expect(train('spread', 'webgpu')).rejects.toThrow(
      /NotImplementedError: .*the webgpu backend cannot be read by calls that block; use reduceGradients/,
    );
  });
});

function expectTrained(trained: readonly [Fitted, Fitted], backend: string): void {
  expect(trained.map((each) => each.backend)).toEqual([backend, backend]);
  expect(trained[1].weights).toEqual(trained[0].weights);
  for (const { loss } of trained) expect(loss.at(-1)).toBeLessThan(loss[0] as number);
}
