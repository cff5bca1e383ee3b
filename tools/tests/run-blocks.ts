import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import type { CodeBlock } from './code-blocks.ts';
import type { Outcome } from './run-programs.ts';

// Where the names of packages lead to compiled sources.
const compiled = path.resolve(import.meta.dirname, '../../out-tsc/compiled/tools/tests/blocks');

/** What the programs print, by their places. One process runs all, since loading the packages takes longer than most programs. */
export function outcomesOf(programs: readonly CodeBlock[], folder: string): ReadonlyMap<string, Outcome> {
  mkdirSync(path.join(compiled, folder), { recursive: true });
  const files = programs.map(({ code }, index) => {
    const file = path.join(compiled, folder, `block-${index}.mjs`);
    writeFileSync(file, transformSync(code, { loader: 'ts', target: 'node20' }).code);
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
