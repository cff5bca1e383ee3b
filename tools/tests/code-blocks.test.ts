import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { transformSync } from 'esbuild';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { exampleBlocks, pageBlocks } from './code-blocks.ts';

const root = path.resolve(import.meta.dirname, '../..');
// Where the names of packages lead to compiled sources.
const compiled = path.join(root, 'out-tsc/compiled/tools/tests/blocks');
const pages = ['docs/concepts/members.md'];
const blocks = [...exampleBlocks(), ...pages.flatMap(pageBlocks)];

/** The file of a block, of which the type check sees the TypeScript, and Node the JavaScript. */
function written(code: string, index: number, ending: 'mts' | 'mjs'): string {
  const folder = ending === 'mjs' ? compiled : path.join(root, 'out-tsc/blocks');
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, `block-${index}.${ending}`);
  writeFileSync(file, ending === 'mts' ? code : transformSync(code, { loader: 'ts', target: 'node20' }).code);
  return file;
}

describe('the programs in the documentation', () => {
  it('are there', () => {
    expect(blocks.length).toBeGreaterThan(5);
  });

  it('compile', () => {
    const { config } = ts.readConfigFile(path.join(root, 'tsconfig.base.json'), ts.sys.readFile);
    const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
    const files = blocks.map(({ code }, index) => written(code, index, 'mts'));
    const program = ts.createProgram(files, {
      ...options,
      ...{ noEmit: true, composite: false, incremental: false, isolatedDeclarations: false, declaration: false },
      types: ['node'],
    });
    const found = files.flatMap((file, index) => {
      const source = program.getSourceFile(file);
      const problems = [...program.getSemanticDiagnostics(source), ...program.getSyntacticDiagnostics(source)];
      return problems.map(
        ({ messageText }) => `${blocks[index]?.place}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      );
    });
    expect(found).toEqual([]);
  });

  it.each(blocks.map(({ place }, index) => [place, index] as const))('run, and print what they say: %s', (_, index) => {
    const { code, prints } = blocks[index] as (typeof blocks)[number];
    const file = written(code, index, 'mjs');
    const { stdout, stderr, status } = spawnSync(process.execPath, [file], { encoding: 'utf8', timeout: 60_000 });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    if (prints) expect(stdout.trimEnd().split('\n')).toEqual(prints);
  });
});
