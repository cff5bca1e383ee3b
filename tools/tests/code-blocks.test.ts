import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { userPages } from '../docs/src/markdown-files.ts';
import { type CodeBlock, codeIn, exampleBlocks } from './code-blocks.ts';
import { fencesOf, pageBlocks } from './page-blocks.ts';
import { faces, namesWithoutExample } from './public-names.ts';
import { outcomesOf } from './run-blocks.ts';
import type { Outcome } from './run-programs.ts';

const root = path.resolve(import.meta.dirname, '../..');
const pages = userPages();
const blocks: readonly CodeBlock[] = [...exampleBlocks(), ...pages.flatMap(pageBlocks)];

let check: { readonly program: ts.Program; readonly files: readonly string[] } | undefined;

/** Checks all blocks together with the packages in one TypeScript program, which takes seconds to make. */
function checked() {
  if (check) return check;
  const { config } = ts.readConfigFile(path.join(root, 'tsconfig.base.json'), ts.sys.readFile);
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const folder = path.join(root, 'out-tsc/blocks');
  mkdirSync(folder, { recursive: true });
  const files = blocks.map((block, index) => {
    const file = path.join(folder, `block-${index}.mts`);
    // `export {}` makes a module of a program without imports.
    writeFileSync(file, `${codeIn(folder, block, root)}\nexport {};\n`);
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

/** Whether an error is about a missing type in JavaScript. */
function isOfTypes({ code }: ts.Diagnostic): boolean {
  return [7005, 7006, 7011, 7017, 7019, 7023, 7024, 7031, 7034].includes(code);
}

/** A pattern for the output that a page shows; `…` stands for any text. */
function textLike(text: string): RegExp {
  const parts = text.split('…').map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}

const running = blocks.filter(({ lacks }) => lacks === undefined);
const outcomes = new Map<string, Outcome>();

describe('the programs in the documentation', () => {
  beforeAll(() => {
    // A program that declares tests runs them after its end.
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
      return problems
        .filter((problem) => !isOfTypes(problem) || !blocks[index]?.untyped)
        .map((problem) => {
          const line = ts.getLineAndCharacterOfPosition(problem.file as ts.SourceFile, problem.start ?? 0).line + 1;
          return `${blocks[index]?.file}:${line}: ${ts.flattenDiagnosticMessageText(problem.messageText, '\n')}`;
        });
    });
    expect(found).toEqual([]);
  });

  it.each(running.map(({ place }, index) => [place, index] as const))(
    'run and print the documented output: %s',
    (_, index) => {
      const { place, prints } = running[index] as CodeBlock;
      const { printed, complaints } = outcomes.get(place) ?? { printed: '', complaints: 'did not end' };
      expect(complaints).toBe('');
      if (prints) expect(printed.trimEnd()).toMatch(textLike(prints.join('\n').trimEnd()));
    },
  );
});

describe('the code blocks of pages', () => {
  const languages = 'ts js diff sh python cpp html yaml json dockerfile ini text'.split(' ').concat('');
  const fences = pages.flatMap(fencesOf);
  const placeOf = ({ file, line }: { file: string; line: number }) => `${file}:${line + 1}`;

  it('are in languages that the tests know', () => {
    const others = fences.filter(({ language }) => !languages.includes(language));
    expect(others.map((fence) => `${placeOf(fence)}: ${fence.language}`)).toEqual([]);
  });

  it('are labelled as TypeScript if they are', () => {
    const isCode = (line: string) => /^(import .*['"];?|(export )?(const|let|function) .*[;{]|await .*;)$/.test(line);
    const hidden = fences.filter(({ language, lines }) => ['', 'text'].includes(language) && lines.some(isCode));
    expect(hidden.map(placeOf)).toEqual([]);
  });

  it('show files that tests run or TypeScript checks, if they show files', () => {
    const shown = pages.flatMap((page) =>
      [...readFileSync(path.join(root, page), 'utf8').matchAll(/^<!-- file: ([^\s#]+)/gm)].map(
        ([, file]) => file ?? '',
      ),
    );
    const unchecked = shown.filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !file.startsWith('examples/'));
    expect(unchecked).toEqual([]);
  });
});

describe('the doc comments of a package', () => {
  it.each(faces.map((face) => path.relative(root, face)))(
    'show an example of every value that it exports: %s',
    (face) => {
      expect(namesWithoutExample(checked().program, path.join(root, face))).toEqual([]);
    },
  );
});
