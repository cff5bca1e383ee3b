import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** A program in the documentation, or what stands for one. */
export interface CodeBlock {
  readonly file: string;
  /** The file and the line where it begins. */
  readonly place: string;
  /** Its lines have the numbers that they have in the file. */
  readonly code: string;
  /** The folder that its relative imports are taken from. */
  readonly beside?: string | undefined;
  /** Whether it is JavaScript, whose parameters have no types. */
  readonly untyped?: boolean;
  /** What it prints, by the comments behind its `console.log` calls. Undefined if it has none of them. */
  readonly prints: readonly string[] | undefined;
  /** What it needs that a test does not have, so that it is only compiled. */
  readonly lacks: string | undefined;
}

/** What programs with this text need that a test does not have. */
const lacking: Readonly<Record<string, string>> = {
  "'@coll/nccl'": 'a GPU',
  "'@coll/mpi'": 'mpirun',
  'new EtcdStore(': 'an etcd server',
  'RedisStore.connect(': 'a Redis server',
  './join.js': 'a second module',
  'openProcessGroup()': 'coll run',
  'memberFromEnvironment(': 'coll run',
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

function blocksOf(file: string, textOf: (block: string) => string): readonly CodeBlock[] {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/^[ *]*```ts\n(.*?)^[ *]*```$/gms)].map((match) => {
    const code = textOf(match[1] as string);
    const line = text.slice(0, match.index).split('\n').length;
    const prints = code.includes('console.log(') ? printedBy(code) : undefined;
    return { file, place: `${file}:${line}`, code: '\n'.repeat(line) + code, prints, lacks: lackedBy(code) };
  });
}

/** The code with relative imports that lead from the folder of the program to the folder beside which it stands. */
export function codeIn(folder: string, { code, beside }: CodeBlock, base: string): string {
  if (beside === undefined) return code;
  const target = path.join(base, beside);
  return code.replaceAll(/(['"])(\.{1,2}\/[^'"\n]+)\1/g, (_, quote: string, module: string) => {
    return `${quote}${path.relative(folder, path.join(target, module))}${quote}`;
  });
}

/** What a test does not have and this program needs. */
export function lackedBy(code: string): string | undefined {
  return Object.entries(lacking).find(([text]) => code.includes(text))?.[1];
}

/** What a program prints, by the comments behind its `console.log` calls. */
export function printedBy(code: string): readonly string[] {
  return [...code.matchAll(/^.*console\.log\(.*\);? *\/\/ (.+)$/gm)].map(([, printed]) => (printed as string).trim());
}
