import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';
import { Firefox, hasFirefox } from './firefox.ts';

/** A page of a browser in a test. */
export interface TestPage extends AsyncDisposable {
  /** The value of an expression in the page, or of its promise. */
  evaluate<Result>(code: string): Promise<Result>;
  reload(): Promise<unknown>;
  /** What the page has logged. */
  lines(): Promise<readonly string[]>;
  /** The errors that nothing has caught, and the errors and the warnings of coll that the page has logged. */
  errors(): Promise<readonly string[]>;
}

export interface TestBrowser extends AsyncDisposable {
  /** Loads a page of a `PageServer`. The page before must be disposed. */
  open(address: string): Promise<TestPage>;
}

const executablePath = '/usr/bin/chromium';
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
// WebGL and WebGPU by the processor.
const software = [
  '--use-angle=swiftshader',
  '--enable-unsafe-swiftshader',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
];
// Memory is measured at once, and not after the next collection of garbage.
const eager = '--enable-blink-features=ForceEagerMeasureMemory';
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet, ...software, eager];

/** Whether this machine has Chromium. */
export const hasChromium = existsSync(executablePath);

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath, args });

/** The browsers of pages' tests, by name. Those that this machine lacks are skipped, which `npm run test:rest` then says. */
export const browsers = [
  ['Chromium', { isHere: hasChromium, launch: async () => testChromium(await launchChromium()) }],
  ['Firefox', { isHere: hasFirefox, launch: async () => testFirefox(await Firefox.launch()) }],
] as const;

const testChromium = (browser: Browser): TestBrowser => ({
  async open(address) {
    const page = await browser.newPage();
    const lines: string[] = [];
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => {
      lines.push(message.text());
      if (message.type() === 'error' || message.text().startsWith('coll warn ')) errors.push(message.text());
    });
    await page.goto(address);
    return {
      evaluate: <Result>(code: string) => page.evaluate<Result>(code),
      reload: () => page.reload(),
      lines: async () => lines,
      errors: async () => errors,
      [Symbol.asyncDispose]: () => page.close(),
    };
  },
  [Symbol.asyncDispose]: () => browser.close(),
});

const testFirefox = (firefox: Firefox): TestBrowser => ({
  async open(address) {
    await firefox.goto(address);
    return {
      evaluate: async <Result>(code: string) => (await firefox.evaluate(code)) as Result,
      reload: () => firefox.goto(address),
      lines: async () => (await firefox.evaluate('logged.lines')) as string[],
      errors: async () => (await firefox.evaluate('logged.errors')) as string[],
      [Symbol.asyncDispose]: () => firefox.goto('about:blank'),
    };
  },
  [Symbol.asyncDispose]: () => firefox[Symbol.asyncDispose](),
});
