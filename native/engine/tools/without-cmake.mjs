// For machines with a compiler and no CMake: the same files with the same flags, one compiler call a file.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { flagsOf, flagsOfKernel, folder, name, parts } from './flags.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';

/** Builds the addon into a folder of build/: what is older than its source or any header. */
export async function buildWithoutCMake({ into, compiler, variant, strict, includes }) {
  const objects = path.join(into, 'objects');
  mkdirSync(objects, { recursive: true });
  const everywhere = [...flagsOf('everywhere'), ...flagsOf(variant), ...(strict ? flagsOf('strict') : [])];
  const search = [`-I${path.join(folder, 'cpp')}`, ...includes.flatMap((include) => ['-isystem', include])];
  const newestHeader = Math.max(...headersAndFlags().map(changedAt));

  const units = [...parts.flatMap(sourcesOf), ...olderLibraries].map(({ part, source }) => ({
    source,
    object: path.join(objects, `${part}-${path.basename(source)}.o`),
    flags: [
      ...(part === 'kernels' ? flagsOfKernel(path.basename(source)) : []),
      ...(part === 'addon' ? flagsOf('addon') : []),
    ],
  }));
  const stale = units.filter(({ source, object }) => changedAt(object) < Math.max(changedAt(source), newestHeader));
  await inParallel(stale, ({ source, object, flags }) =>
    compile(compiler.command, [...everywhere, ...search, ...flags, '-c', source, '-o', object]),
  );

  const binary = path.join(into, `${name}.node`);
  if (stale.length === 0 && units.every(({ object }) => changedAt(object) <= changedAt(binary))) return;
  const link = process.platform === 'darwin' ? ['-bundle', '-undefined', 'dynamic_lookup'] : ['-shared'];
  const linked = [...link, '-pthread', ...flagsOf(variant), ...units.map(({ object }) => object), '-o', binary];
  runToEnd(compiler.command, linked, { quiet: true });
}

const filesIn = (part, ending) =>
  readdirSync(path.join(folder, 'cpp', part))
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(folder, 'cpp', part, name));

const sourcesOf = (part) => filesIn(part, '.cc').map((source) => ({ part, source }));
// As with CMake: the binary loads wherever Node does, whichever machine it is built on.
const olderLibraries =
  process.platform === 'linux'
    ? [{ part: 'linux', source: path.resolve(import.meta.dirname, '../cpp/linux/older_libraries.cc') }]
    : [];
const headersAndFlags = () => [
  ...['.', ...parts].flatMap((part) => filesIn(part, '.h')),
  ...['.json', '.inc'].flatMap((ending) => filesIn('kernels', ending)),
  path.join(folder, 'compile.json'),
];
const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;

async function inParallel(units, work) {
  const waiting = [...units];
  const worker = async () => {
    for (let unit = waiting.shift(); unit !== undefined; unit = waiting.shift()) await work(unit);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

function compile(command, args) {
  const child = spawn(command, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) =>
      status === 0 ? resolve() : reject(new CommandFailed(`${command} ended with ${status}: ${args.at(-3)}`)),
    );
  });
}
