import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../../packages/strategy/test/browsers.ts';
import { buildPage, longestTask, servePage, TrainingPage } from './training-page.ts';

const site = mkdtempSync(path.join(tmpdir(), 'coll-browser-example-'));
const pictures = path.resolve(import.meta.dirname, '../../../reports');
const patience = { timeout: 240_000 };

describe.skipIf(!hasChromium)('the page that trains in a browser, in Chromium', () => {
  let browser: Browser;
  let server: Awaited<ReturnType<typeof servePage>>;
  /** Most tests use the same page one after the other, as a person does. */
  let open: TrainingPage;

  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    [browser] = await Promise.all([launchChromium(), buildPage(site)]);
    server = await servePage(site);
    open = new TrainingPage(await browser.newPage({ viewport: { width: 1280, height: 900 } }));
    await open.open(server.address);
  });
  afterAll(async () => {
    await Promise.all([browser?.close(), server?.close()]);
    rmSync(site, { recursive: true, force: true });
  });

  /** Takes pictures at two widths, and expects nothing to be wrong with the page. */
  async function inspect(state: string, modes: Readonly<Record<number, 'dark' | 'light'>>): Promise<void> {
    for (const [width, colorScheme] of Object.entries(modes)) {
      await open.page.setViewportSize({ width: Number(width), height: 900 });
      await open.page.emulateMedia({ colorScheme });
      expect(await open.violations(), `${state}, ${colorScheme}, ${width} px`).toEqual([]);
      expect(await open.overflow(), `${state}, ${width} px`).toBe(0);
      await open.page.screenshot({ path: path.join(pictures, `browser-${state}-${width}.png`), fullPage: true });
    }
  }

  it('isolates itself on a host that sets no headers', async () => {
    expect(await open.page.evaluate('crossOriginIsolated')).toBe(true);
  });

  it('trains until it reads most digits', async () => {
    await browser.startTracing(open.page, { categories: ['toplevel'] });
    await open.press('Start');
    await expect.poll(() => open.round(), patience).toBeGreaterThan(0);
    const first = await open.accuracy();
    await expect.poll(() => open.accuracy(), patience).toBeGreaterThan(90);
    expect(first).toBeLessThan(80);
    // Other programs may make a task long, so the figure is printed only.
    const { wall, cpu } = longestTask(await browser.stopTracing());
    console.log(`longest task of the page's thread while training: ${wall} ms, of which ${cpu} ms on a core`);
  });

  it('pauses, and goes on', async () => {
    await open.press('Pause');
    await expect.poll(() => open.text('status'), patience).toMatch(/^Paused after round \d+\.$/);
    const round = await open.round();
    await open.press('Resume');
    await expect.poll(() => open.round(), patience).toBeGreaterThan(round);
  });

  it('shows the error of a replica that ends, and goes on in new workers', async () => {
    const last = await open.page.getByLabel('Replicas').inputValue();
    await open.press(`End replica ${Number(last) - 1}`);
    await expect.poll(() => open.text('failure'), patience).toContain('ERR_COLL_REPLICA');
    expect(await open.text('failure')).toContain(`replica ${Number(last) - 1}: its thread ended`);
    await inspect('failed', { 390: 'dark', 1280: 'light' });
    const round = await open.round();
    await open.press('Continue');
    await expect.poll(() => open.round(), patience).toBeGreaterThan(round);
    expect(await open.accuracy()).toBeGreaterThan(80);
    await open.press('Pause');
    await expect.poll(() => open.text('status'), patience).toContain('Paused');
  });

  it('names digits that are drawn by mouse', async () => {
    await open.draw([
      [0.3, 0.2],
      [0.7, 0.2],
      [0.45, 0.85],
    ]);
    expect(await open.text('answer')).toMatch(/^It reads as 7 /);
  });

  it('names digits that are drawn by keyboard', async () => {
    await open.press('Clear');
    await open.page.locator('#field').focus();
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp', 'ArrowUp', 'Space']) await open.page.keyboard.press(key);
    for (let step = 0; step < 9; step++) await open.page.keyboard.press('ArrowDown');
    await open.page.keyboard.press('Space');
    expect(await open.text('answer')).toMatch(/^It reads as 1 /);
  });

  it('names most of the digits that it draws itself', async () => {
    let correct = 0;
    for (let digit = 0; digit < 10; digit++) {
      await open.press('Draw one for me');
      if ((await open.text('answer')).startsWith(`It reads as ${digit} `)) correct += 1;
    }
    expect(correct).toBeGreaterThanOrEqual(8);
  });

  it('measures one and more replicas, and TensorFlow.js alone', async () => {
    await open.press('Measure');
    await expect.poll(() => open.text('measuring'), patience).toMatch(/^Digits per second/);
    const names = await open.page.locator('#bars .name').allTextContents();
    expect(names[0]).toBe('1 replica');
    expect(names.at(-1)).toMatch(/^TensorFlow\.js alone, \d+ threads?$/);
    await inspect('measured', { 390: 'light', 1280: 'dark' });
  });

  it('forgets what it has learned', async () => {
    await open.press('Start over');
    await expect.poll(() => open.text('answer'), patience).toBe('The model has not learned anything yet.');
    expect(await open.round()).toBe(0);
  });

  it('logs no error', () => {
    expect(open.errors).toEqual([]);
  });

  it('works without the network once it has loaded', async () => {
    const own = await servePage(site);
    const offline = new TrainingPage(await browser.newPage());
    await offline.open(own.address);
    const cached = `caches.open('coll-digits').then((cache) => cache.keys()).then((keys) => keys.map(({ url }) => url).join())`;
    for (const part of ['replica-', 'baseline-', 'wasm-simd', 'threaded-simd'])
      await expect.poll(() => offline.page.evaluate(cached), patience).toContain(part);
    await own.close();
    await offline.page.reload();
    await offline.ready();
    await offline.press('Start');
    await expect.poll(() => offline.round(), patience).toBeGreaterThan(0);
    await offline.page.close();
  });

  it('shows a picture if it cannot be isolated', async () => {
    const still = new TrainingPage(await browser.newPage({ viewport: { width: 390, height: 900 } }));
    // Browsers have no service workers on plain HTTP, but for localhost. The files are read without a server.
    await still.page.route('**', (route) => {
      const { pathname } = new URL(route.request().url());
      return route.fulfill({ path: path.join(site, pathname === '/' ? 'index.html' : pathname) });
    });
    await still.page.goto('http://site.test/');
    await still.page.locator('#still img').waitFor();
    expect(await still.page.evaluate(`document.querySelector('#still img').decode().then(() => 'shown')`)).toBe(
      'shown',
    );
    expect([await still.violations(), await still.overflow(), still.errors]).toEqual([[], 0, []]);
    expect([...readFileSync(path.join(site, 'picture.png')).subarray(1, 4)]).toEqual([...Buffer.from('PNG')]);
    await still.page.close();
  });
});
