import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

/**
 * Writes the folder that is carried to the machine with the GPU: this Node, stripped and compressed, the addon, and the checks in one file. Nothing has to be
 * installed there.
 */
const here = path.resolve(import.meta.dirname, '..');
const addon = path.resolve(here, '../../native/nccl/build/release/coll_nccl.node');
const folder = path.resolve(process.argv[2] ?? path.join(here, 'bundle'));

if (!existsSync(addon)) throw new Error(`${addon} is not there: node native/nccl/build.mjs`);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

await build({
  entryPoints: [path.join(here, 'src/main.ts')],
  outfile: path.join(folder, 'gpu-check.mjs'),
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  conditions: ['@coll/source'],
  // What comes along is asked for by name only where it is installed.
  external: ['@coll/native'],
});
copyFileSync(addon, path.join(folder, 'coll_nccl.node'));
copyFileSync(path.join(here, 'run.sh'), path.join(folder, 'run.sh'));
chmodSync(path.join(folder, 'run.sh'), 0o755);

const node = path.join(folder, 'node');
copyFileSync(process.execPath, node);
chmodSync(node, 0o755);
execFileSync('strip', [node]);
execFileSync('xz', ['--threads=0', '-6', '--force', node]);
console.log(folder);
