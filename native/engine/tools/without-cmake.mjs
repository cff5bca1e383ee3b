// For machines with a compiler and no CMake: the same files with the same flags, a folder as one file.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { alone, flagsOf, flagsOfKernel, folder, name, nodeApiIncludes, parts } from './flags.mjs';
import { CommandFailed, runToEnd } from './run-to-end.mjs';

/**
 * Builds the addon into a folder of build/: what is older than its sources or any header, or was compiled by another command. `kernels` are the
 * files that get their flags. `isEarly` compiles only what needs no npm package.
 */
export async function buildWithoutCMake({ into, compiler, variant, strict, kernels, isEarly }) {
  const objects = path.join(into, 'objects');
  mkdirSync(objects, { recursive: true });
  const everywhere = [...flagsOf('everywhere'), ...flagsOf(variant), ...(strict ? flagsOf('strict') : [])];
  const search = [`-I${path.join(folder, 'cpp')}`, ...nodeApiIncludes.flatMap((include) => ['-isystem', include])];
  const newestHeader = Math.max(...headersAndFlags().map(changedAt));

  const all = [...parts.flatMap(unitsOf), ...olderLibraries].map(({ part, unit, sources }) => {
    const object = path.join(objects, `${unit}.o`);
    const flags = [
      ...(part === 'kernels' && kernels.includes(path.basename(sources[0]))
        ? flagsOfKernel(path.basename(sources[0]))
        : []),
      ...(part === 'addon' ? flagsOf('addon') : []),
    ];
    const source = sources.length === 1 ? sources[0] : joined(sources, path.join(objects, `${unit}.cc`));
    const command = [compiler.command, ...everywhere, ...search, ...flags, '-c', source, '-o', object];
    return { part, unit, object, command, changedAt: Math.max(...[...sources, source].map(changedAt), newestHeader) };
  });
  const units = isEarly ? all.filter(({ part }) => part !== 'addon') : all;
  const stale = units.filter(
    ({ object, command, changedAt: changed }) =>
      changedAt(object) < changed || readIfThere(`${object}.txt`) !== command.join('\n'),
  );
  await inParallel(stale, async ({ unit, object, command }, index) => {
    console.log(`[${index + 1}/${stale.length}] compiling ${unit}`);
    await compile(command);
    writeFileSync(`${object}.txt`, command.join('\n'));
  });
  if (isEarly) return;

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

/** What is compiled by one call: the files of a folder together, but for those that are compiled alone. */
function unitsOf(part) {
  const sources = filesIn(part, '.cc');
  const isAlone = (source) => alone.includes(path.basename(source));
  return [
    ...sources.filter(isAlone).map((source) => ({ part, unit: path.basename(source, '.cc'), sources: [source] })),
    { part, unit: part, sources: sources.filter((source) => !isAlone(source)) },
  ];
}

/** Writes a file that includes all sources, if it is not there yet. */
function joined(sources, file) {
  const text = sources.map((source) => `#include "${source}"\n`).join('');
  if (readIfThere(file) !== text) writeFileSync(file, text);
  return file;
}

const readIfThere = (file) => (existsSync(file) ? readFileSync(file, 'utf8') : undefined);

// As with CMake: the binary loads wherever Node does, whichever machine it is built on.
const olderLibraries =
  process.platform === 'linux'
    ? [
        {
          part: 'linux',
          unit: 'older_libraries',
          sources: [path.resolve(import.meta.dirname, '../cpp/linux/older_libraries.cc')],
        },
      ]
    : [];
const headersAndFlags = () => [
  ...['.', ...parts].flatMap((part) => filesIn(part, '.h')),
  ...['.json', '.inc'].flatMap((ending) => filesIn('kernels', ending)),
  path.join(folder, 'compile.json'),
];
const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;

async function inParallel(units, work) {
  const waiting = [...units.entries()];
  const worker = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}

function compile([command, ...args]) {
  const child = spawn(command, args, { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) =>
      status === 0 ? resolve() : reject(new CommandFailed(`${command} ended with ${status}: ${args.at(-3)}`)),
    );
  });
}
