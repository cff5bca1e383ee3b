import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import { build } from 'esbuild';

/** The headers that make a page cross-origin isolated. */
export const isolation = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

const types: Readonly<Record<string, string>> = {
  '': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** Keeps what a page logs, for browsers whose protocol does not report it. */
const keepsLog = `
const logged = { lines: [], errors: [] };
addEventListener('error', ({ message }) => logged.errors.push(message));
addEventListener('unhandledrejection', ({ reason }) => logged.errors.push(String(reason)));
for (const name of ['log', 'info', 'warn', 'error']) {
  const log = console[name];
  console[name] = (...values) => {
    logged.lines.push(values.join(' '));
    if (name === 'error' || String(values[0]).startsWith('coll warn ')) logged.errors.push(values.join(' '));
    log.call(console, ...values);
  };
}
Object.assign(globalThis, { logged });
`;

/** Serves a page and its scripts on loopback. */
export class PageServer implements AsyncDisposable {
  readonly address: string;
  readonly #server: Server;

  /** Bundles programs for browsers, from the built packages, and serves them, and other files, beside a page that loads the first one. */
  static async open(
    entryPoints: readonly string[],
    headers: Readonly<Record<string, string>> = isolation,
    others: ReadonlyMap<string, Uint8Array> = new Map(),
  ) {
    const { outputFiles } = await build({
      entryPoints: [...entryPoints],
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      write: false,
      outdir: '/',
      logLevel: 'error',
    });
    const files = new Map<string, Uint8Array | string>(others);
    for (const { path, contents } of outputFiles) files.set(path, contents);
    files.set('/keeps-log.js', keepsLog);
    const script = `<script src="/keeps-log.js"></script><script type="module" src="${outputFiles[0]?.path}"></script>`;
    const page = `<!doctype html><title>page</title><link rel="icon" href="data:,">${script}`;
    const server = createServer(({ url = '/' }, response) => {
      const body = url === '/' ? page : files.get(url);
      const type = types[extname(url)] ?? types['.js'];
      response.writeHead(body === undefined ? 404 : 200, { ...headers, 'Content-Type': type });
      response.end(body ?? '');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new PageServer(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
