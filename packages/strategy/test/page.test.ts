import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MirroredStrategy } from '@coll/strategy';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { browsers, type TestBrowser, type TestPage } from './browsers.ts';
import { isolation, PageServer } from './page-server.ts';

const programs = ['program', 'replica'].map((name) => `${import.meta.dirname}/fixtures/page/${name}.ts`);

const examples = path.resolve(import.meta.dirname, '../../../examples/page');
const guide = path.resolve(import.meta.dirname, '../../../docs/guides/pages.md');

const rows = Float32Array.from({ length: 80 }, (_, index) => Math.sin(index));
const steps = 20;

// In seconds, on a machine that is busy: an end that nothing notices takes far longer, or forever.
const longestFailure = 10;

interface Failed {
  readonly outcome: { readonly name: string; readonly message: string; readonly code?: string; readonly rank?: number };
  readonly seconds: number;
}

describe.each(browsers)('a MirroredStrategy in a page, in %s', (name, { isHere, launch }) => {
  if (!isHere) return it.skip('needs the browser', () => {});
  let browser: TestBrowser;
  let server: PageServer;
  let page: TestPage;

  beforeAll(async () => {
    [server, browser] = await Promise.all([PageServer.open(programs), launch()]);
  });
  afterAll(() => Promise.all([browser?.[Symbol.asyncDispose](), server?.[Symbol.asyncDispose]()]));

  beforeEach(async () => {
    page = await browser.open(server.address);
  });
  afterEach(() => page[Symbol.asyncDispose]());

  async function openAnew(address: string): Promise<void> {
    await page[Symbol.asyncDispose]();
    page = await browser.open(address);
  }

  /** Calls a function of the page's program. */
  const call = <Result>(code: string) => page.evaluate<Result>(`program.${code}`);

  it.each(['wasm', 'js'])(
    'trains in two workers by the %s engine, with the bits of threads of Node.js',
    async (engine) => {
      await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
      const module = new URL('./fixtures/page/replica.ts', import.meta.url);
      const results = await strategy.run(module, { args: [rows, steps] });
      const [wanted] = strategy.experimentalLocalResults(results) as readonly [{ readonly weights: Float32Array }];
      const weights = [...wanted.weights];
      expect(await call(`train(${JSON.stringify([...rows])}, ${steps}, '${engine}')`)).toEqual({
        weights: [weights, weights],
        runs: [2, 2],
        reports: 2 * 2 * steps,
        threadEngine: engine,
      });
      expect(await page.errors()).toEqual([]);
    },
  );

  it('shares variables, datasets, merge calls and asynchronous collectives', async () => {
    const each = { awaited: [4, 6], gathered: [0, 1], merged: { data: [3] }, isOwn: true };
    expect(await call('together()')).toMatchObject([
      { ...each, counter: [1, 2] },
      { ...each, counter: [2, 3] },
    ]);
    expect(await page.errors()).toEqual([]);
  });

  it.runIf(name === 'Chromium')('keeps its memory over 2,000 steps', async () => {
    const [before = 0, after = 0] = await call<number[]>(`bytesAfter(${JSON.stringify([...rows])}, [2000, 2000])`);
    // What a step kept would count 2,000 times.
    expect(after - before).toBeLessThan(2000 * 256);
  });

  it('runs functions as replicas in the thread of the page', async () => {
    expect(await call('inThisThread()')).toEqual([[4], [4]]);
  });

  it('refuses to block the thread of the page', async () => {
    expect(await call('blocking()')).toMatchObject({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT', rank: 0 });
  });

  it.each([
    ['throws', 'fail', 'RangeError', 'replica 1: the data are wrong'],
    ['throws where nothing catches', 'crash', 'RangeError', 'replica 1: nobody catches this'],
    ['ends its worker', 'vanish', 'RuntimeError', 'replica 1: its thread ended with exit code 1 before it returned'],
  ])('reports a replica that %s, and goes on', async (_, exportName, name, message) => {
    const { outcome, seconds } = await call<Failed>(`failureOf('${exportName}')`);
    expect(outcome).toEqual({
      name,
      message,
      rank: 1,
      ...(name === 'RuntimeError' ? { code: 'ERR_COLL_REPLICA' } : {}),
    });
    expect(seconds).toBeLessThan(longestFailure);
    expect(await call('sum()')).toEqual([[2], [2]]);
  });

  it('reports a replica that ends its worker after it has returned, while another one waits for it', async () => {
    const { outcome } = await call<Failed>(`failureOf('leave')`);
    expect(outcome).toMatchObject({ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 1 });
  });

  it('ends replicas that block, if the run is aborted', async () => {
    const { outcome, seconds } = await call<Failed>(`failureOf('hang', undefined, true)`);
    expect(outcome).toMatchObject({ name: 'AbortedError', code: 'ERR_COLL_ABORTED' });
    expect(seconds).toBeLessThan(longestFailure);
    expect(await call('sum()')).toEqual([[2], [2]]);
  });

  it('names a module that is not there', async () => {
    const { outcome } = await call<Failed>(`failureOf('default', './nothing.js')`);
    expect(outcome).toMatchObject({ name: 'CollError', code: 'ERR_COLL_MODULE' });
    expect(outcome.message).toContain('nothing.js cannot be loaded in a worker');
  });

  it('warns of a module that does not connect its worker', async () => {
    call(`failureOf('default', './program.js')`).catch(() => {});
    const warning = /program\.js has not begun after 15 seconds in a worker: .*@coll\/strategy\/replica-thread/;
    await expect.poll(() => page.lines(), { timeout: 120_000 }).toContainEqual(expect.stringMatching(warning));
  });

  it('names the two headers that a page needs', async () => {
    await using plain = await PageServer.open(programs, {});
    await openAnew(plain.address);
    const { outcome } = await call<Failed>(`failureOf('default')`);
    expect(outcome.code).toBe('ERR_COLL_NO_ENGINE');
    expect(outcome.message).toMatch(
      /Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp/,
    );
  });

  it('runs on a static host with the service worker of the guide', async () => {
    const [, script = ''] = /```js\n(\/\/ isolation\.js.*?)```/s.exec(readFileSync(guide, 'utf8')) ?? [];
    await using plain = await PageServer.open(programs, {}, new Map([['/isolation.js', Buffer.from(script)]]));
    await openAnew(plain.address);
    const isReady = 'navigator.serviceWorker.register("isolation.js").then(() => navigator.serviceWorker.ready)';
    await page.evaluate(`${isReady}.then(() => true)`);
    await page.reload();
    expect(await page.evaluate('crossOriginIsolated')).toBe(true);
    expect(await call('sum()')).toEqual([[2], [2]]);
  });

  it('names what a content security policy must allow', async () => {
    await using strict = await PageServer.open(programs, {
      ...isolation,
      'Content-Security-Policy': "script-src 'self'",
    });
    await openAnew(strict.address);
    const message = (await page.errors()).join();
    expect(message).toContain("'wasm-unsafe-eval'");
    expect(message).toContain("'unsafe-eval'");
  });

  it('trains the example of the guide', async () => {
    await using example = await PageServer.open(
      ['main', 'replica'].map((name) => path.join(examples, `${name}.ts`)),
      isolation,
    );
    await openAnew(example.address);
    const results = async () => (await page.lines()).filter((line) => line.startsWith('y ='));
    await expect.poll(results, { timeout: 20_000 }).toEqual(['y = 2.00 x + 1.00', 'y = 2.00 x + 1.00']);
    expect(await page.lines()).toHaveLength(12);
  });

  it.each([
    ["script-src 'self' 'wasm-unsafe-eval'", 'wasm'],
    ["script-src 'self' 'unsafe-eval'", 'wasm'],
  ])('needs no more of a content security policy than %s', async (policy, engine) => {
    await using strict = await PageServer.open(programs, { ...isolation, 'Content-Security-Policy': policy });
    await openAnew(strict.address);
    expect(await call(`engineOf('auto')`)).toBe(engine);
    expect(await call('sum()')).toEqual([[2], [2]]);
  });
});
