import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../../..');
const dist = path.join(root, 'docs/.vitepress/dist');
const executablePath = '/usr/bin/chromium';
// Building the site takes most of it, on a machine that is busy with other tests.
const longestBuildMillis = 900_000;
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet];

describe.skipIf(!existsSync(executablePath))('the playground of the built site, in Chromium', () => {
  let browser: Browser;
  let page: Page;
  let errors: string[];

  beforeAll(async () => {
    await promisify(execFile)('npm', ['run', '--silent', 'docs'], { cwd: root, maxBuffer: 2 ** 26 });
    browser = await chromium.launch({ executablePath, args });
  }, longestBuildMillis);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    errors = [];
    page = await browser.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
    });
    // The site is read from its folder, without a server.
    await page.route('**', (route) => {
      const file = path.join(dist, decodeURIComponent(new URL(route.request().url()).pathname));
      return existsSync(file) ? route.fulfill({ path: file }) : route.fulfill({ status: 404 });
    });
  });
  afterEach(async () => {
    await page.close();
    expect(errors).toEqual([]);
  });

  /** Opens the page in the state of a hash, and waits until it runs. */
  async function open(hash = ''): Promise<void> {
    await page.goto(`http://site.test/playground.html${hash}`);
    await page.locator('.playground pre').first().waitFor();
  }

  const arrows = () => page.locator('svg path.arrow').count();
  const title = () => page.locator('strong[aria-live]').textContent();
  const held = () => page.locator('.holdings tbody td').allTextContents();
  const choice = (name: string) => page.getByRole('combobox', { name, exact: true });
  const field = (name: string) => page.getByRole('spinbutton', { name, exact: true });
  const proof = () => page.locator('.proof').textContent();

  it('shows the first round of a ring of four ranks, its proof, its cost and its code', async () => {
    await open();
    expect(await title()).toBe('Round 0 (1 of 6)');
    expect(await arrows()).toBe(4);
    expect(await proof()).toMatch(/^Proved for all-reduce sum with 4 ranks, 24 transfers/);
    expect(await page.locator('.price').textContent()).toMatch(/ms in 6 rounds/);
    expect(await page.locator('details[open] pre').textContent()).toContain('export function ringAlgorithm(');
  });

  it('steps through the rounds by keyboard until every rank has the result', async () => {
    await open('#algorithm=reduction-to-one&ranks=3&step=0');
    expect(await held()).toEqual(['0', '1', '2']);
    await page.getByRole('button', { name: 'Next' }).focus();
    await page.keyboard.press('Enter');
    expect(await held()).toEqual(['0–2', '1', '2'].map((cell, rank) => (rank === 0 ? `${cell}\u00a0✓` : cell)));
    await page.getByRole('slider', { name: 'Round' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await held()).toEqual(['0–2\u00a0✓', '0–2\u00a0✓', '0–2\u00a0✓']);
    expect(await page.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true);
  });

  it('keeps the choices in the address, and restores them from it', async () => {
    await open();
    await choice('Collective').selectOption('broadcast');
    await choice('Algorithm').selectOption('binary-tree');
    await field('Ranks').fill('7');
    await field('Root').fill('2');
    const hash = '#collective=broadcast&algorithm=binary-tree&ranks=7&root=2&step=1';
    await page.waitForURL(`**/playground.html${hash}`);
    const [shownTitle, shownCells] = [await title(), await held()];
    await page.goto('about:blank');
    await open(hash);
    expect([await title(), await held()]).toEqual([shownTitle, shownCells]);
    expect(await field('Root').inputValue()).toBe('2');
  });

  it('follows a link to another state on the same page', async () => {
    await open();
    await page.goto('http://site.test/playground.html#algorithm=direct&ranks=3');
    await page.getByText('Round 0 (1 of 2)').waitFor();
    expect(await arrows()).toBe(6);
  });

  it('explains what is wrong with a number of ranks', async () => {
    await open();
    const alert = page.getByRole('alert');
    expect(await alert.count()).toBe(0);
    await field('Ranks').fill('0');
    expect(await alert.textContent()).toBe('No schedule: ranks must be a whole number from 1 to 16, got 0.');
    await field('Ranks').fill('6');
    expect(await alert.count()).toBe(0);
    await choice('Algorithm').selectOption('rechd');
    expect(await alert.textContent()).toMatch(/the number of ranks must be a power of two, got 6/);
  });

  it('reports the verifier’s problem when a transfer is removed, until it is put back', async () => {
    await open('#algorithm=direct&ranks=3');
    await page.locator('summary').first().click();
    await page.getByRole('checkbox').first().uncheck();
    expect(await proof()).toMatch(/^Not a correct schedule .* lacks the contribution of rank 0\.$/);
    expect(await arrows()).toBe(5);
    await page.getByRole('button', { name: 'Put all transfers back' }).click();
    expect(await proof()).toMatch(/^Proved/);
    expect(await arrows()).toBe(6);
  });

  it('changes the cost with the network', async () => {
    await open('#ranks=8&size=1');
    const seconds = () => page.locator('.price strong').textContent();
    const first = await seconds();
    await field('Latency (µs)').fill('5000');
    const slower = await seconds();
    await page.getByRole('button', { name: /^datacentre/ }).click();
    const faster = await seconds();
    expect([first, slower, faster]).toEqual(['742 µs', '70.0 ms', '74.4 µs']);
    await field('Bandwidth per port (Gbit/s)').fill('0');
    expect(await page.getByRole('alert').textContent()).toMatch(/^No estimate: Bandwidth per port .* got 0\.$/);
  });

  it('draws the picture in the colors of the light or the dark mode', async () => {
    const colorOf = (selector: string, property: string) =>
      page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    const seen = new Set<unknown>();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await open();
      const fill = await colorOf('svg .rank text', 'fill');
      expect(fill).toBe(await colorOf('.playground', 'color'));
      expect(await colorOf('svg .rank text', 'stroke')).toBe(await colorOf('body', 'backgroundColor'));
      seen.add(fill);
    }
    expect(seen.size).toBe(2);
  });
});
