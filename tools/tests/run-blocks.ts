import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { type CodeBlock, codeIn } from './code-blocks.ts';
import type { Outcome } from './run-programs.ts';

// In this folder, package names lead to compiled sources.
const compiled = path.resolve(import.meta.dirname, '../../out-tsc/compiled');

/**
 * Runs programs, and returns their outcomes by their places. One process runs all, because loading the
 * packages takes longer than most programs.
 */
export function outcomesOf(programs: readonly CodeBlock[], folder: string): ReadonlyMap<string, Outcome> {
  const beside = path.join(compiled, 'tools/tests/blocks', folder);
  mkdirSync(beside, { recursive: true });
  const files = programs.map((block, index) => {
    const file = path.join(beside, `block-${index}.mjs`);
    writeFileSync(file, transformSync(codeIn(beside, block, compiled), { loader: 'ts', target: 'node20' }).code);
    return file;
  });
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
