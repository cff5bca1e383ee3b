import { createRequire } from 'node:module';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { build, preview } from 'vite';

const root = path.resolve(import.meta.dirname, '..');
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Builds the page in a folder. */
export async function buildPage(outDir: string): Promise<void> {
  await build({ root, logLevel: 'error', build: { outDir, emptyOutDir: true } });
}

/** Serves the built page as a static host does, which sets no headers. */
export async function servePage(outDir: string) {
  const host = '127.0.0.1';
  const server = await preview({ root, logLevel: 'error', build: { outDir }, preview: { port: 0, host } });
  return { address: server.resolvedUrls?.local[0] as string, close: () => server.close() };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** In microseconds: from begin to end, and on a core. */
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** The longest task of the main thread of a page, in milliseconds, from a trace of Chromium. */
export function longestTask(trace: Buffer): { readonly wall: number; readonly cpu: number } {
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const isMain = ({ name, args }: TraceEvent) => name === 'thread_name' && args.name === 'CrRendererMain';
  const main = new Set(traceEvents.filter(isMain).map(threadOf));
  const tasks = traceEvents.filter((event) => event.name.endsWith('RunTask') && main.has(threadOf(event)));
  const longest = (micros: readonly number[]) => Math.max(...micros) / 1000;
  return {
    wall: longest(tasks.map(({ dur = 0 }) => dur)),
    cpu: longest(tasks.map(({ tdur = 0 }) => tdur)),
  };
}

/** The page of the example in a browser, as a person uses it. */
export class TrainingPage {
  /** The errors and the warnings of coll that the page has logged. */
  readonly errors: string[] = [];
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    page.on('pageerror', (error) => this.errors.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error' || message.text().startsWith('coll warn ')) this.errors.push(message.text());
    });
  }

  /** Opens the page, and waits until its service worker serves it and its controls are there. */
  async open(address: string): Promise<void> {
    await this.page.goto(address);
    await this.ready();
  }

  /** Waits until the controls are there. */
  ready(): Promise<void> {
    return this.page.locator('#live').waitFor({ timeout: 240_000 });
  }

  press(name: string): Promise<void> {
    return this.page.getByRole('button', { name, exact: true }).click({ timeout: 240_000 });
  }

  async text(id: string): Promise<string> {
    return (await this.page.locator(`#${id}`).textContent()) as string;
  }

  /** The number of complete rounds. */
  async round(): Promise<number> {
    return Number.parseInt(await this.text('round'), 10);
  }

  /** The share of test digits that the model reads correctly, in percent. */
  async accuracy(): Promise<number> {
    return Number.parseInt((await this.page.locator('#accuracy-chart .value').textContent()) as string, 10);
  }

  /** Draws a stroke by mouse. Points are in units of the field. */
  async draw(points: readonly (readonly [x: number, y: number])[]): Promise<void> {
    const field = this.page.locator('#field');
    await field.scrollIntoViewIfNeeded();
    const box = (await field.boundingBox()) as { x: number; y: number; width: number; height: number };
    for (const [index, [x, y]] of points.entries()) {
      await this.page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 5 });
      if (index === 0) await this.page.mouse.down();
    }
    await this.page.mouse.up();
  }

  /** What axe-core finds wrong with the page as it is now. */
  async violations(): Promise<string[]> {
    if (!(await this.page.evaluate(`'axe' in globalThis`))) await this.page.addScriptTag({ path: axe });
    return this.page.evaluate(
      `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map((node) => node.html).join()))`,
    );
  }

  /** By how many pixels the page is wider than its window. */
  overflow(): Promise<number> {
    return this.page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  }
}
