import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openRegistry, type Registry } from '../release/registry.ts';
import { rehearse } from '../release/rehearsal.ts';
import { type Ended, runProgram } from './run-program.ts';
import { type Runtime, runtimes } from './runtimes.ts';
import type { Outcome, Table, Workplace } from './table.ts';
import { requireSuccess } from './workplace.ts';

const root = path.resolve(import.meta.dirname, '../..');

const nodes = ['Node 20', 'Node 22', 'Node 24', 'Node 26'];

/** A package manager. */
interface Installer {
  /** Its package of npm, with an exact version. */
  readonly spec: string;
  /** The program in the package. Scripts run in the Node of the column. */
  readonly program: string;
  /** The command that adds packages to a project. */
  readonly add: readonly string[];
  /** The command that runs a program of an installed package. */
  readonly exec: readonly string[];
  /** A file without which the package manager uses the project around the folder. */
  readonly lock?: string;
}

const npm: Installer = {
  spec: 'npm@11.19.1',
  program: 'bin/npm-cli.js',
  add: ['install', '--no-audit', '--no-fund'],
  exec: ['exec', '--'],
};
const installers: Readonly<Record<string, Installer>> = {
  npm,
  pnpm: { spec: 'pnpm@12.21.0', program: 'bin/pnpm.mjs', add: ['add', '--allow-build=esbuild'], exec: ['exec'] },
  Yarn: { spec: '@yarnpkg/cli-dist@4.18.1', program: 'bin/yarn.js', add: ['add'], exec: ['exec'], lock: 'yarn.lock' },
  Bun: { spec: '@oven/bun-linux-x64@1.4.5', program: 'bin/bun', add: ['add'], exec: ['run'] },
};

/** The projects of `npm create coll`, and what their start script prints. */
const created: Readonly<Record<string, RegExp>> = {
  tfjs: /^\[0\] epoch 10: loss 0\.\d+, accuracy 0\.\d\d$/m,
  'jax-js': /^\[0\] epoch 10: loss 0\.\d+, accuracy 0\.\d\d$/m,
  'plug-in': /^in four threads: 6, 6, 6, 6$/m,
  processes: /^\[2\] rank 2 of 3: 3 3$/m,
};

/** What is installed from a registry on loopback, after `npm run release` has published to it. */
export const installersTable: Table = {
  name: 'installers',
  columns: nodes,
  rows: [...Object.keys(installers), ...Object.keys(created).map((kind) => `npm create coll, ${kind}`)],
  async open(column, workplace) {
    const { spec, binary } = runtimes[column] as Runtime;
    const node = path.join(await workplace.cached(spec), binary);
    const bin = path.join(workplace.emptyFolder('bin'), 'bin');
    mkdirSync(bin);
    symlinkSync(node, path.join(bin, 'node'));
    const registry = await released(workplace);
    // tsx does not work with Yarn's Plug'n'Play.
    const env = { ...registry.env, YARN_NODE_LINKER: 'node-modules', PATH: `${bin}:/usr/bin:/bin` };
    return {
      version: spec.slice(spec.lastIndexOf('@') + 1),
      async run(row) {
        const installer = installers[row];
        if (installer) return install(installer, node, env, workplace);
        return create(row.replace('npm create coll, ', ''), node, env, workplace);
      },
    };
  },
};

let releasing: Promise<Registry> | undefined;
/** Publishes all packages, once for all columns. */
function released(workplace: Workplace): Promise<Registry> {
  releasing ??= (async () => {
    requireSuccess(await runProgram(['npm', 'run', 'build'], { cwd: root, seconds: 900 }), 'npm run build');
    const registry = await openRegistry(workplace.emptyFolder('registry'));
    await rehearse(registry, workplace.emptyFolder('release'));
    return registry;
  })();
  return releasing;
}

/** Installs packages into an empty project, and runs the first program of the README and one of several processes. */
async function install(
  installer: Installer,
  node: string,
  env: NodeJS.ProcessEnv,
  workplace: Workplace,
): Promise<Outcome> {
  const cwd = workplace.emptyFolder('project');
  const run = await commandOf(installer, node, workplace, { cwd, env });
  writeFileSync(path.join(cwd, 'package.json'), '{ "name": "door", "private": true, "type": "module" }');
  if (installer.lock !== undefined) writeFileSync(path.join(cwd, installer.lock), '');
  const [, program] = /^```ts\n(.*?)^```$/ms.exec(readFileSync(path.join(root, 'README.md'), 'utf8')) ?? [];
  writeFileSync(path.join(cwd, 'average.ts'), program as string);
  writeFileSync(path.join(cwd, 'processes.ts'), readFileSync(path.join(root, 'examples/processes.ts')));
  const packages = ['core', 'strategy', 'ring', 'processes', 'cli'].map((name) => `@coll/${name}`);
  return (
    faultOf(await run(...installer.add, ...packages, 'tsx'), /./) ??
    faultOf(await run(...installer.exec, 'tsx', 'average.ts'), /1\.5, 3, 4\.5/) ??
    faultOf(await run(...installer.exec, 'coll', 'run', '-n', '2', 'processes.ts'), /^\[1\] rank 1 of 2: 1 2$/m) ?? {
      result: 'ok',
    }
  );
}

/** Runs `npm create coll`, then what the README of the new project says. */
async function create(kind: string, node: string, env: NodeJS.ProcessEnv, workplace: Workplace): Promise<Outcome> {
  const cwd = workplace.emptyFolder('create');
  const outside = await commandOf(npm, node, workplace, { cwd, env });
  const inside = await commandOf(npm, node, workplace, { cwd: path.join(cwd, 'project'), env });
  return (
    faultOf(await outside('create', '--yes', 'coll', 'project', '--', '--kind', kind), /npm start/) ??
    faultOf(await inside('install', '--no-audit', '--no-fund'), /added/) ??
    faultOf(await inside('start'), created[kind] as RegExp) ?? { result: 'ok' }
  );
}

async function commandOf(
  { spec, program }: Installer,
  node: string,
  workplace: Workplace,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<(...args: readonly string[]) => Promise<Ended>> {
  const file = path.join(await workplace.cached(spec), program);
  const command: readonly [string, ...string[]] = /js$/.test(program) ? [node, file] : [file];
  return (...args) => runProgram([...command, ...args], { ...options, seconds: 300 });
}

/** The failure of a command that must end with 0 and print something. */
function faultOf({ code, stdout, stderr }: Ended, wanted: RegExp): Outcome | undefined {
  if (code === 0 && wanted.test(stdout + stderr)) return undefined;
  return { result: 'failed', note: `ended with ${code}: ${(stdout + stderr).trim().slice(-500)}` };
}
