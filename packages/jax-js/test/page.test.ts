import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { browsers, type TestBrowser } from '../../strategy/test/browsers.ts';
import { PageServer } from '../../strategy/test/page-server.ts';
import type { Trained } from './fixtures/page-replica.ts';

const programs = ['program', 'replica'].map((name) => `${import.meta.dirname}/fixtures/page-${name}.ts`);
const epochs = 3;

describe.each(browsers)('jax-js in two workers of %s', (name, { isHere, launch }) => {
  if (!isHere) return it.skip('needs the browser', () => {});
  let browser: TestBrowser;
  let server: PageServer;

  beforeAll(async () => {
    [server, browser] = await Promise.all([PageServer.open(programs), launch()]);
  });
  afterAll(() => Promise.all([browser?.[Symbol.asyncDispose](), server?.[Symbol.asyncDispose]()]));

  it.each(name === 'Chromium' ? ['cpu', 'wasm', 'webgpu'] : ['cpu', 'wasm'])(
    'trains on the device %s, with equal weights',
    async (device) => {
      await using page = await browser.open(server.address);
      const [first, second] = await page.evaluate<[Trained, Trained]>(`train('${device}', ${epochs})`);
      expect(await page.errors()).toEqual([]);
      expect([first.device, second.device]).toEqual([device, device]);
      expect(second).toEqual(first);
      expect(first.losses).toHaveLength(4 * epochs);
      expect(first.losses.at(-1)).toBeLessThan(first.losses[0] as number);
    },
  );

  it('restores after a reload the tree that it has saved', async () => {
    await using page = await browser.open(server.address);
    // Both replicas return this text.
    expect(await page.evaluate("run('saved')")).toEqual(['/trees/checkpoint-000001']);
    await page.reload();
    const tree = { w: [1, 2.5, -3], epoch: 4 };
    expect(await page.evaluate("run('restored')")).toEqual([tree, tree]);
    expect(await page.errors()).toEqual([]);
  });
});
