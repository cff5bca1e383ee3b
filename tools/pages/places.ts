import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { build } from 'esbuild';
import { browsers } from '../../packages/strategy/test/browsers.ts';
import { PageServer } from '../../packages/strategy/test/page-server.ts';
import { whyNot } from '../bench/src/engines.js';
import type { Call } from './fixtures/node.ts';
import type { program } from './fixtures/program.ts';

type Program = typeof program;

/** Where the program runs: a page of a browser, or a process of Node.js. */
export interface Place extends AsyncDisposable {
  /** With the version, such as `Firefox 140.0`. */
  readonly name: string;
  readonly engine: 'wasm' | 'native';
  call<Name extends keyof Program>(name: Name, ...args: Parameters<Program[Name]>): ReturnType<Program[Name]>;
}

const fixture = (name: string) => path.join(import.meta.dirname, 'fixtures', `${name}.ts`);

/** Opens a page in each browser of this machine, and a process for each engine. Says on stderr what is missing. */
export async function openPlaces(): Promise<Place[]> {
  const places: Place[] = [];
  for (const [name, { isHere, launch }] of browsers) {
    if (isHere) places.push(await openPage(name, launch));
    else console.error(`${name} is not measured: this machine lacks it`);
  }
  const folder = await buildForNode();
  for (const engine of ['wasm', 'native'] as const) {
    const reason = whyNot(engine);
    if (reason === undefined) places.push(startNode(engine, folder));
    else console.error(`the engine ${engine} is not measured: ${reason}`);
  }
  return places;
}

async function openPage(name: string, launch: (typeof browsers)[number][1]['launch']): Promise<Place> {
  const [server, browser] = await Promise.all([PageServer.open(['program', 'replica'].map(fixture)), launch()]);
  const page = await browser.open(server.address);
  const [, version] = /(?:Chrome|Firefox)\/(\d+)/.exec(await page.evaluate<string>('navigator.userAgent')) ?? [];
  return {
    name: `${name} ${version}`,
    engine: 'wasm',
    call: (called, ...args) =>
      page.evaluate(`program.${called}(...${JSON.stringify(args)})`) as ReturnType<Program[typeof called]>,
    async [Symbol.asyncDispose]() {
      await browser[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Compiles the program as a user does, because with a TypeScript loader each thread would have another one beside it. */
async function buildForNode(): Promise<string> {
  const outdir = path.resolve(import.meta.dirname, '../../out-tsc/pages');
  await build({
    ...{ entryPoints: ['node', 'replica'].map(fixture), outdir, logLevel: 'error' },
    ...{ bundle: true, packages: 'external', format: 'esm', platform: 'node', target: 'node20' },
  });
  return outdir;
}

function startNode(engine: Place['engine'], folder: string): Place {
  const child = fork(path.join(folder, 'node.js'), { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
  const ended = once(child, 'exit');
  const answer = async (call: Call): Promise<unknown> => {
    const answered = once(child, 'message');
    child.send(call);
    const [value] = await Promise.race([answered, ended.then(([code]) => [new Error(`Node.js ended with ${code}`)])]);
    if (value instanceof Error) throw value;
    return value;
  };
  return {
    name: `Node.js ${process.versions.node}, \`${engine}\``,
    engine,
    call: (name, ...args) => answer({ name, args }) as ReturnType<Program[typeof name]>,
    async [Symbol.asyncDispose]() {
      child.disconnect();
      await ended;
    },
  };
}
