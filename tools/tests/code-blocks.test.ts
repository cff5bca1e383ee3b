import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CodeBlock, exampleBlocks, pageBlocks } from './code-blocks.ts';
import { faces, namesWithoutExample } from './public-names.ts';
import { outcomesOf } from './run-blocks.ts';
import type { Outcome } from './run-programs.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = ['docs/guides/groups.md', 'docs/guides/measure.md', 'docs/guides/overlap-and-packing.md'];
const blocks: readonly CodeBlock[] = [...exampleBlocks(), ...pages.flatMap(pageBlocks)];

let check: { readonly program: ts.Program; readonly files: readonly string[] } | undefined;

/** All blocks and the packages in one program of TypeScript, which takes seconds to make. */
function checked() {
  if (check) return check;
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const folder = path.join(root, 'out-tsc/blocks');
  mkdirSync(folder, { recursive: true });
  const files = blocks.map(({ code }, index) => {
    const file = path.join(folder, `block-${index}.mts`);
    writeFileSync(file, code);
    return file;
  });
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
    const groups = {
      programs: running.filter((block) => !declaresTests(block)),
      tests: running.filter(declaresTests),
    };
    for (const [folder, programs] of Object.entries(groups))
      for (const [place, outcome] of outcomesOf(programs, folder)) outcomes.set(place, outcome);
  });

  it('exist', () => {
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
    'run and print the documented output: %s',
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
