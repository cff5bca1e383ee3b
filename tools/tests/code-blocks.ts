import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A program in the documentation. */
export interface CodeBlock {
  /** The file and the line where it begins. */
  readonly place: string;
  readonly code: string;
  /** What it prints, by the comments behind its `console.log` calls. Undefined if it has none of them. */
  readonly prints: readonly string[] | undefined;
  /** What it needs that a test does not have, so that it is only compiled. */
  readonly lacks: string | undefined;
}

/** What programs with this text need that a test does not have. */
const lacking: Readonly<Record<string, string>> = {
  "'@coll/nccl'": 'a GPU',
  'new EtcdStore(': 'an etcd server',
  'RedisStore.connect(': 'a Redis server',
  './join.js': 'a second module',
  // Run by packages/testing/test/under-node-test.test.ts.
  'executorSuite(': 'seconds',
  'crossDeviceOpsSuite(': 'seconds',
  ...(process.platform === 'linux' ? {} : { 'openProcessGroup(': 'Linux' }),
};

const root = path.resolve(import.meta.dirname, '../..');

/** The programs of all `@example`s in sources: blocks that import something. */
export function exampleBlocks(): readonly CodeBlock[] {
  const folders = ['packages', 'native'].flatMap((folder) => {
    const found = readdirSync(path.join(root, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return found.map(({ name }) => `${folder}/${name}/src`);
  });
  const files = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  );
  return files.flatMap((file) =>
    blocksOf(file, (text) => text.replaceAll(/^ *\* ?/gm, '')).filter(({ code }) => /^import /m.test(code)),
  );
}

/** All blocks of TypeScript in a page. */
export function pageBlocks(file: string): readonly CodeBlock[] {
  return blocksOf(file, (text) => text);
}

function blocksOf(file: string, textOf: (block: string) => string): readonly CodeBlock[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/^[ *]*```ts\n(.*?)^[ *]*```$/gms)].map((match) => {
    const code = textOf(match[1] as string);
    const line = text.slice(0, match.index).split('\n').length;
    return { place: `${file}:${line}`, code, prints: printedBy(code), lacks: lackedBy(code) };
  });
}

function lackedBy(code: string): string | undefined {
  return Object.entries(lacking).find(([text]) => code.includes(text))?.[1];
}

function printedBy(code: string): readonly string[] | undefined {
  if (!code.includes('console.log(')) return undefined;
  return [...code.matchAll(/^ *console\.log\(.*\); *\/\/ (.+)$/gm)].map(([, printed]) => (printed as string).trim());
}
