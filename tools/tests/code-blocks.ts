import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A program in the documentation. */
export interface CodeBlock {
  readonly file: string;
  /** The file and the first line. */
  readonly place: string;
  /** The code, with the line numbers of the file. */
  readonly code: string;
  /** The folder from which relative imports are resolved. */
  readonly beside?: string | undefined;
  /** Whether the block is JavaScript, so that parameters need no types. */
  readonly untyped?: boolean;
  /** The output, from the comments after `console.log` calls. Undefined if there are no such calls. */
  readonly prints: readonly string[] | undefined;
  /** What the program needs and a test lacks; such a program is only compiled. */
  readonly lacks: string | undefined;
}

/** Texts of programs that need something that a test lacks. */
const lacking: Readonly<Record<string, string>> = {
  "'@coll/nccl'": 'a GPU',
  "'@coll/mpi'": 'mpirun',
  'new EtcdStore(': 'an etcd server',
  'RedisStore.connect(': 'a Redis server',
  "'@coll/jax-js/page'": 'the files of a page',
  "'@coll/tfjs/page'": 'the files of a page',
  './join.js': 'a second module',
  'openProcessGroup()': 'coll run',
  'memberFromEnvironment(': 'coll run',
  // Run by packages/testing/test/under-node-test.test.ts.
  'executorSuite(': 'seconds',
  'crossDeviceOpsSuite(': 'seconds',
  ...(process.platform === 'linux' ? {} : { 'openProcessGroup(': 'Linux' }),
};

const root = path.resolve(import.meta.dirname, '../..');

/** The programs in all `@example`s of sources: blocks with an import. */
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

function blocksOf(file: string, textOf: (block: string) => string): readonly CodeBlock[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/^[ *]*```ts\n(.*?)^[ *]*```$/gms)].map((match) => {
    const code = textOf(match[1] as string);
    const line = text.slice(0, match.index).split('\n').length;
    const prints = code.includes('console.log(') ? printedBy(code) : undefined;
    return { file, place: `${file}:${line}`, code: '\n'.repeat(line) + code, prints, lacks: lackedBy(code) };
  });
}

/** The code, with relative imports that are resolved from the folder of the block. */
export function codeIn(folder: string, { code, beside }: CodeBlock, base: string): string {
  if (beside === undefined) return code;
  const target = path.join(base, beside);
  return code.replaceAll(/(['"])(\.{1,2}\/[^'"\n]+)\1/g, (_, quote: string, module: string) => {
    return `${quote}${path.relative(folder, path.join(target, module))}${quote}`;
  });
}

/** What this program needs and a test lacks. */
export function lackedBy(code: string): string | undefined {
  return Object.entries(lacking).find(([text]) => code.includes(text))?.[1];
}

/** The output of a program, from the comments after its `console.log` calls. */
export function printedBy(code: string): readonly string[] {
  return [...code.matchAll(/^.*console\.log\(.*\);? *\/\/ (.+)$/gm)].map(([, printed]) => (printed as string).trim());
}
