import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = path.resolve(import.meta.dirname, '..');
const native = path.resolve(here, '../../native');
/** That of NCCL, and that of the processes in which strategies have their workers. */
const addons = ['nccl/build/release/coll_nccl.node', 'engine/build/release/coll_native.node'];

/** Makes all that is carried to the machine with the GPU, but for Node: the checks in one file, the addon, and the programs that they compare with. */
export async function makeParts(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [path.join(here, 'src/main.ts')],
    outfile: path.join(folder, 'gpu-check.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['@coll/source'],
    logLevel: 'error',
  });
  for (const addon of addons.map((file) => path.join(native, file))) {
    if (!existsSync(addon)) throw new Error(`${addon} is not there: npm run build`);
    copyFileSync(addon, path.join(folder, path.basename(addon)));
  }
  copyFileSync(path.join(here, 'python/torch_calls.py'), path.join(folder, 'torch_calls.py'));
  copyFileSync(path.join(here, 'run.sh'), path.join(folder, 'run.sh'));
  for (const program of ['calls', 'mappings']) compile([`${program}.c`, 'older_start.c'], path.join(folder, program));
}

/** A program that runs where glibc is older than here. */
function compile(sources: readonly string[], program: string): void {
  const files = sources.map((source) => path.join(here, 'c', source));
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  // dlopen is in a library of its own on older systems.
  const linking = ['-Wl,--wrap=__libc_start_main,--no-as-needed', '-l:libdl.so.2'];
  execFileSync(process.env['CC'] ?? 'cc', ['-std=c11', '-O2', ...warnings, ...files, '-o', program, ...linking]);
}
