// `npm test` and `npm run test:rest`, which hand in `core` and `rest`; further arguments go to vitest.
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { prepareTests, runCommand } from './phases.mjs';
import { root } from './run.mjs';

const [mode, ...args] = process.argv.slice(2);
process.env.COLL_TESTS = mode;
process.env.COLL_TEST_SEED ??= String(randomInt(1_000_000));
const seed = process.env.COLL_TEST_SEED;

/** Of the grids `npm test` runs what it draws; the other parts it leaves out. */
function leftOut() {
  const parts = JSON.parse(readFileSync(path.join(root, 'tools/tests/parts.json'), 'utf8'));
  return ['grids', 'rest', 'built', 'doubles'].flatMap((part) => Object.keys(parts[part]));
}

const endings = {
  core: () => `
Left out, and run by npm run test:rest:
${leftOut()
  .map((title) => `- ${title}`)
  .join('\n')}
To draw the same part of the grids again: COLL_TEST_SEED=${seed} npm test
`,
  rest: () => `
Not part of it: tests of C++ (npm run -w @coll/native test:cpp, and -w @coll/nccl), and the sanitizers
(node native/engine/build.mjs asan or tsan, and the same of native/nccl). CI runs both: .ci/run
`,
};

await prepareTests();
if (mode === 'core') process.stderr.write(`grids drawn by seed ${seed}\n`);
const code = await runCommand('vitest', ['run', ...args]);
process.stderr.write(endings[mode]());
process.exit(code);
