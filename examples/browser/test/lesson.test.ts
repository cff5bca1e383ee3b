import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { build, createServer, type Plugin, preview } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../../packages/strategy/test/browsers.ts';
import { root as repository, UserProject } from '../../../tools/package-shape/user-project.ts';

const root = path.resolve(import.meta.dirname, '../lesson');
const work = mkdtempSync(path.join(tmpdir(), 'coll-lesson-'));
const patience = { timeout: 240_000 };
const local = { port: 0, host: '127.0.0.1' };

/** What `npm run pack -- strategy tfjs` packs, apart from binaries. */
const packed = ['core', 'direct', 'multi-worker', 'native', 'processes', 'reduction-to-one', 'rendezvous', 'ring'];

/** A project with the files of the lesson and packed packages, which Vite treats differently from those of this repository. */
function readersProject(): UserProject {
  const project = new UserProject([...packed, 'strategy', 'tfjs']);
  cpSync(root, project.folder, { recursive: true });
  symlinkSync(path.join(repository, 'node_modules/@tensorflow'), path.join(project.folder, 'node_modules/@tensorflow'));
  return project;
}

/** Serves the page while its files are edited, as `npx vite` does. `plugins`: in addition to those of the page. */
async function serveSources({ folder }: UserProject, plugins: readonly Plugin[] = []) {
  const server = await createServer({ root: folder, logLevel: 'error', server: local, plugins: [...plugins] });
  await server.listen();
  return { address: server.resolvedUrls?.local[0] as string, [Symbol.asyncDispose]: () => server.close() };
}

/** Builds the page and serves what was built, as `npx vite build` and `npx vite preview` do. */
async function serveBuilt() {
  const outDir = path.join(work, 'dist');
  await build({ root, logLevel: 'error', build: { outDir } });
  const server = await preview({ root, logLevel: 'error', build: { outDir }, preview: local });
  return { address: server.resolvedUrls?.local[0] as string, [Symbol.asyncDispose]: () => server.close() };
}

/** Trains as a reader does, and returns what the page says in the end. */
async function train(page: Page, replicas: number): Promise<string> {
  await page.getByLabel('Replicas').fill(String(replicas));
  await page.getByRole('button', { name: 'Train' }).click(patience);
  const said = () => page.locator('#progress').textContent();
  await expect.poll(said, patience).toMatch(new RegExp(`${replicas} replicas took|Error`));
  return (await said()) as string;
}

/** Adds the line of the lesson that makes one replica throw. */
function throwing(): Plugin {
  const lesson = readFileSync(path.resolve(root, '../../../docs/start/page.md'), 'utf8');
  const [, line = ''] = /add `(.*?)` before/.exec(lesson) ?? [];
  const before = 'await model.fit(';
  return {
    name: 'throwing',
    transform: (code, id) => (/replica\.ts/.test(id) ? code.replace(before, `${line} ${before}`) : undefined),
  };
}

describe.skipIf(!hasChromium)('the lesson of a training in a page, in Chromium', () => {
  let browser: Browser;
  let project: UserProject;

  beforeAll(async () => {
    project = readersProject();
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    project?.remove();
    rmSync(work, { recursive: true, force: true });
  });

  it.each([
    ['served', 'two', [2], () => serveSources(project)],
    ['built', 'one and two', [1, 2], serveBuilt],
  ] as const)('%s by Vite, trains with %s replicas', async (_, __, numbers, serve) => {
    await using server = await serve();
    await using page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(server.address);
    for (const replicas of numbers)
      expect(await train(page, replicas)).toMatch(/^epoch 10 of 10: loss 0\.\d+, accuracy 0\.[89]/);
    expect(errors).toEqual([]);
  });

  it('shows the error of a replica that throws', async () => {
    await using server = await serveSources(project, [throwing()]);
    await using page = await browser.newPage();
    await page.goto(server.address);
    expect(await train(page, 2)).toBe('Error: replica 1: no memory');
  });
});
