import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';

const root = path.resolve(import.meta.dirname, '../../..');
const launcher = path.join(root, 'packages/cli/dist/main.js');
const program = path.join(import.meta.dirname, 'fixtures/uneven-rank.mjs');
const require = createRequire(import.meta.url);
const speedscope = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist/release');

export const browserPath = '/usr/bin/chromium';
/** The picture of the guide. */
export const pictureFile = path.join(root, 'docs/figures/trace-in-speedscope.png');

const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
// speedscope draws with WebGL, which needs a GPU or its imitation.
const drawing = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
const ranks = 3;

/** Runs a job of three ranks, writes its timeline to a file in a new folder with `coll trace`, and returns the file. */
export async function recordTimeline(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-picture-'));
  const env = { ...process.env, COLL_RECORD_DIR: path.join(folder, 'records') };
  const job = spawn(process.execPath, [launcher, 'run', '-n', `${ranks}`, program], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(job, 'exit');
  try {
    let done = 0;
    for await (const line of createInterface(job.stdout)) if (line.endsWith('done') && ++done === ranks) break;
    const file = path.join(folder, 'trace.json');
    execFileSync(process.execPath, [launcher, 'trace', '--out', file], { env });
    return file;
  } finally {
    job.kill('SIGTERM');
    await ended;
  }
}

/** Removes a timeline with its folder. */
export function removeTimeline(file: string): void {
  rmSync(path.dirname(file), { recursive: true });
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: browserPath,
    args: ['--headless', '--no-sandbox', '--disable-quic', ...quiet, ...drawing],
  });
}

/** Opens a timeline in speedscope, and waits until it is drawn. */
export async function showTimeline(page: Page, timeline: string): Promise<void> {
  await page.setViewportSize({ width: 1200, height: 190 });
  // speedscope is read from its folder, without a server.
  await page.route('**', (route) => {
    const { pathname } = new URL(route.request().url());
    return route.fulfill({ path: pathname === '/trace.json' ? timeline : path.join(speedscope, pathname) });
  });
  const drawn = page.waitForEvent('console', (message) => message.text().startsWith('import: '));
  await page.goto('http://speedscope.test/index.html#profileURL=http://speedscope.test/trace.json');
  await drawn;
  await titleOf(page, 0).waitFor();
  await nextFrames(page);
}

/** The title that speedscope shows if it draws the calls of a rank, with the number of the track. */
export function titleOf(page: Page, rank: number): Locator {
  return page.getByText(new RegExp(`rank ${rank}, main.*\\(\\d+/\\d+\\)$`));
}

/** Waits until the page has drawn what it has been told. */
export async function nextFrames(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}
