// The commands `npm test`, `npm run test:rest`, `test:scale` and `test:mpi`, which pass `core`, `rest`, `scale` and
// `mpi`. Further arguments go to vitest.
import { randomInt } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { prepareTests, runCommand } from './phases.mjs';
import { announce } from './progress.mjs';
import { root } from './run.mjs';

const [mode, ...args] = process.argv.slice(2);
process.env.COLL_TESTS = mode;
process.env.COLL_TEST_SEED ??= String(randomInt(1_000_000));
const seed = process.env.COLL_TEST_SEED;

const listOf = (lines) => lines.map((line) => `- ${line}`).join('\n');

/** The titles of parts of the tests. */
function titlesOf(...names) {
  const parts = JSON.parse(readFileSync(path.join(root, 'tools/tests/parts.json'), 'utf8'));
  return listOf(names.flatMap((name) => Object.keys(parts[name])));
}

const isCommand = (name) =>
  process.env.PATH?.split(path.delimiter).some((folder) => existsSync(path.join(folder, name)));

/** The requirements of tests, with the tests that are skipped without them. */
const needs = {
  rest: [
    [existsSync('/usr/bin/chromium'), 'the playground, timelines and pages in Chromium, which need /usr/bin/chromium'],
    [existsSync('/usr/bin/firefox-esr'), 'pages in Firefox, which need /usr/bin/firefox-esr'],
    [isCommand('mpirun.openmpi'), 'workers under Open MPI, which need mpirun.openmpi'],
    [isCommand('mpirun.mpich'), 'workers under MPICH, which need mpirun.mpich'],
    [process.env.COLL_SLURM, 'workers under srun, which need a Slurm: COLL_SLURM'],
  ],
  mpi: [
    [isCommand('mpirun.openmpi'), 'Open MPI: apt-get install openmpi-bin'],
    [isCommand('mpirun.mpich'), 'MPICH: apt-get install mpich'],
    [process.env.COLL_SLURM, 'srun: COLL_SLURM names no tool that runs a Slurm'],
    [process.env.COLL_NETLAB, 'several hosts: COLL_NETLAB names no tool that makes hosts'],
  ],
};

function skipped(part) {
  const missing = needs[part].filter(([isHere]) => !isHere).map(([, what]) => what);
  return missing.length === 0 ? '' : `\nSkipped, because this machine lacks what they need:\n${listOf(missing)}\n`;
}

// `npm test` runs a drawn part of each grid, and omits other parts.
const endings = {
  core: () => `
Left out, and run by npm run test:rest:
${titlesOf('grids', 'rest', 'built', 'doubles')}
Left out, and run by npm run test:scale:
${titlesOf('scale')}
Left out, and run by npm run test:mpi:
${titlesOf('mpi')}
To draw the same part of the grids again: COLL_TEST_SEED=${seed} npm test
`,
  rest: () => `
Not part of it: tests of C++ (npm run -w @coll/native test:cpp, and -w @coll/nccl and @coll/mpi), and the sanitizers
(node native/engine/build.mjs asan or tsan, and the same of native/nccl and native/mpi). CI runs both: .ci/run
${skipped('rest')}`,
  scale: () => '',
  mpi: () => skipped('mpi'),
};

/** How many seconds all tests of a mode take. */
const usualSeconds = { core: 330, rest: 1200, scale: 660, mpi: 600 };

await prepareTests();
if (mode === 'core') process.stderr.write(`grids drawn by seed ${seed}\n`);
const end = announce(
  'tests',
  args.length === 0 ? 'all of this command' : 'some of this command; all take',
  usualSeconds[mode],
);
const code = await runCommand('vitest', ['run', ...args]);
end();
process.stderr.write(endings[mode]());
process.exit(code);
