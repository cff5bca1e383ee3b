import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const here = path.resolve(import.meta.dirname, '..');
const native = path.resolve(here, '../../native');
/** The addon for NCCL, and the native engine, which strategies with several processes need. */
const addons = ['nccl/build/release/coll_nccl.node', 'engine/build/release/coll_native.node'];

/**
 * Makes all files that the machine with the GPU needs, except Node: the checks in one file, the addons, and
 * the programs for comparison.
 */
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

/** Compiles a program so that it also runs with an older glibc. */
function compile(sources: readonly string[], program: string): void {
  const files = sources.map((source) => path.join(here, 'c', source));
  const warnings = ['-Wall', '-Wextra', '-Werror'];
  // On older systems, dlopen is in libdl.
  const linking = ['-Wl,--wrap=__libc_start_main,--no-as-needed', '-l:libdl.so.2'];
  execFileSync(process.env['CC'] ?? 'cc', ['-std=c11', '-O2', ...warnings, ...files, '-o', program, ...linking]);
}
