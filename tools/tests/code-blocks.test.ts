import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CodeBlock, exampleBlocks, pageBlocks } from './code-blocks.ts';
import { faces, namesWithoutExample } from './public-names.ts';
import type { Outcome } from './run-programs.ts';

const root = path.resolve(import.meta.dirname, '../..');
// Where the names of packages lead to compiled sources.
const compiled = path.join(root, 'out-tsc/compiled/tools/tests/blocks');
const pages = ['docs/concepts/members.md'];
const blocks: readonly CodeBlock[] = [...exampleBlocks(), ...pages.flatMap(pageBlocks)];

/** The file of a block, of which the type check sees the TypeScript, and Node the JavaScript. */
function written(code: string, index: number, ending: 'mts' | 'mjs'): string {
  const folder = ending === 'mjs' ? compiled : path.join(root, 'out-tsc/blocks');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `block-${index}.${ending}`);
  writeFileSync(file, ending === 'mts' ? code : transformSync(code, { loader: 'ts', target: 'node20' }).code);
  return file;
}

let check: { readonly program: ts.Program; readonly files: readonly string[] } | undefined;

/** All blocks and the packages in one program of TypeScript, which takes seconds to make. */
function checked() {
  if (check) return check;
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const files = blocks.map(({ code }, index) => written(code, index, 'mts'));
  const program = ts.createProgram([...files, ...faces], {
    ...options,
    ...{ noEmit: true, composite: false, incremental: false, isolatedDeclarations: false, declaration: false },
    types: ['node'],
  });
  check = { program, files };
  return check;
}

const running = blocks.filter(({ lacks }) => lacks === undefined);
const outcomes = new Map<string, Outcome>();

describe('the programs in the documentation', () => {
  beforeAll(() => {
    // The tests that a program declares run after it.
    const declaresTests = ({ code }: CodeBlock) => code.includes("from 'node:test'");
    for (const programs of [running.filter((block) => !declaresTests(block)), running.filter(declaresTests)])
      for (const [place, outcome] of outcomesOf(programs)) outcomes.set(place, outcome);
  });

  it('are there', () => {
    expect(blocks.length).toBeGreaterThan(5);
  });

  it('compile', () => {
    const { program, files } = checked();
    const found = files.flatMap((file, index) => {
      const source = program.getSourceFile(file);
      const problems = [...program.getSemanticDiagnostics(source), ...program.getSyntacticDiagnostics(source)];
      return problems.map(
        ({ messageText }) => `${blocks[index]?.place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      );
    });
    expect(found).toEqual([]);
  });

  it.each(running.map(({ place }, index) => [place, index] as const))(
    'run, and print what they say: %s',
    (_, index) => {
      const { place, prints } = running[index] as CodeBlock;
      const { printed, complaints } = outcomes.get(place) ?? { printed: '', complaints: 'did not end' };
      expect(complaints).toBe('');
      if (prints) expect(printed.trimEnd().split('\n')).toEqual(prints);
    },
  );
});

describe('the doc comments of a package', () => {
  it.each(faces.map((face) => path.relative(root, face)))(
    'show an example of every value that it exports: %s',
    (face) => {
      expect(namesWithoutExample(checked().program, path.join(root, face))).toEqual([]);
    },
  );
});

/** What the programs print. Each process runs many of them, since loading the packages takes longer than most programs. */
function outcomesOf(programs: readonly CodeBlock[]): ReadonlyMap<string, Outcome> {
  const files = programs.map(({ code }, index) => written(code, index, 'mjs'));
  const runner = fileURLToPath(new URL('./run-programs.ts', import.meta.url));
  const run = spawnSync(process.execPath, [runner, ...files], { encoding: 'utf8', timeout: 120_000 });
  const lines = run.stdout.split('\n').filter((line) => line.startsWith('{"printed"'));
  const outcomes = lines.map((line): Outcome => JSON.parse(line));
  return new Map(
    programs.map(({ place }, index) => {
      const outcome = outcomes[index] ?? { printed: '', complaints: 'did not end' };
      const complaints = run.status === 0 ? outcome.complaints : `${outcome.complaints}\n${run.stdout}${run.stderr}`;
      return [place, { ...outcome, complaints }];
    }),
  );
}
