// Feeds the parsers of strangers' bytes with bytes that libFuzzer and fast-check find: the native ones under address and
// undefined-behaviour sanitizers, then the property tests of those in TypeScript. Needs clang (Debian: clang, libclang-rt-dev).
//
//   npm run fuzz -- --minutes 10
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.join(import.meta.dirname, '../..');
const cpp = path.join(root, 'native/engine/cpp');
const built = path.join(root, 'native/engine/build/fuzz');
/** The sources that each native target needs beside its own; folders stand for all their sources. */
const targets = {
  frames: ['processes/frames.cc'],
  data_request: ['processes/data_connections.cc', 'sealing', 'kernels/crc32c.cc', 'kernels/crc32c_instructions.cc'],
};
const properties = [
  'packages/cli/src/trace/record-file.test.ts',
  'packages/processes/src/post-frames.test.ts',
  'packages/rendezvous/src/pmi/announcement.test.ts',
  'packages/rendezvous/src/pmi/pmi.test.ts',
  'packages/rendezvous/test/frames.test.ts',
];

/** How many properties without a number of runs these files have. */
const mostProperties = 7;

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '1' } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes must be a number above 0, got ${values.minutes}`);
const seconds = Math.max(1, Math.round((60 * minutes) / (Object.keys(targets).length + 1)));

const flags = ['-std=c++17', '-g', '-O1', '-pthread', '-fno-sanitize-recover=all', `-I${cpp}`];
for (const [name, parts] of Object.entries(targets)) {
  const [program, found] = [path.join(built, name), path.join(built, 'found', name)];
  mkdirSync(found, { recursive: true });
  const sources = [path.join('fuzz', `${name}.cc`), ...parts.flatMap(sourcesOf)].map((file) => path.join(cpp, file));
  run('clang++', [...flags, '-fsanitize=fuzzer,address,undefined', ...sources, '-ldl', '-o', program]);
  const limits = [`-max_total_time=${seconds}`, '-max_len=8192', '-timeout=10', '-print_final_stats=1'];
  // What was found in earlier runs is kept in the first folder; the second one is in the repository.
  run(program, [...limits, `-artifact_prefix=${built}/${name}-`, found, path.join(cpp, 'fuzz/corpus', name)]);
}
// Each property without a number of runs of its own takes its share of the time.
const millis = Math.max(100, Math.round((1000 * seconds) / mostProperties));
run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...properties], {
  COLL_PROPERTY_MILLIS: String(millis),
});

function sourcesOf(part) {
  if (part.endsWith('.cc')) return existsSync(path.join(cpp, part)) ? [part] : [];
  if (!existsSync(path.join(cpp, part))) return [];
  return readdirSync(path.join(cpp, part))
    .filter((file) => file.endsWith('.cc'))
    .map((file) => path.join(part, file));
}

function run(command, args, variables = {}) {
  console.log(`\n$ ${path.basename(command)} ${args.slice(-4).join(' ')}`);
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    cwd: root,
    env: { ...process.env, ...variables },
  });
  if (error)
    throw new Error(`${command} cannot be run: install clang (Debian: apt-get install clang libclang-rt-dev)`, {
      cause: error,
    });
  if (status !== 0) process.exit(status ?? 1);
}
