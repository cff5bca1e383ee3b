import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { machine } from 'node:os';
import path from 'node:path';
import { makeParts } from './bundle.js';

/**
 * Writes a folder for a machine with a GPU: the checks, and this Node, stripped and compressed. Nothing
 * needs to be installed there.
 */
// What a Node of nodejs.org is linked with. Those of distributions need more, which is not everywhere.
const everywhere = /^(lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|atomic)|ld-linux.*)\.so/;
const mostBytes = 60 * 2 ** 20;
const folder = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '../bundle'));

rmSync(folder, { recursive: true, force: true });
await makeParts(folder);
chmodSync(path.join(folder, 'run.sh'), 0o755);

writeFileSync(path.join(folder, 'machine'), `${machine()}\n`);
const needed = execFileSync('readelf', ['--dynamic', process.execPath], { encoding: 'utf8' });
const missing = [...needed.matchAll(/NEEDED.*\[(.*)\]/g)]
  .map(([, name = '']) => name)
  .filter((name) => !everywhere.test(name));
if (missing.length > 0)
  throw new Error(
    `${process.execPath} needs ${missing.join(', ')}, which may not be there: pack up with a Node of nodejs.org`,
  );

const node = path.join(folder, 'node');
copyFileSync(process.execPath, node);
chmodSync(node, 0o755);
execFileSync('strip', [node]);
execFileSync('xz', ['--threads=0', '-6', '--force', node]);

const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
if (bytes > mostBytes) throw new Error(`${folder} has ${bytes} bytes, more than ${mostBytes}`);
console.log(`${folder}: ${(bytes / 2 ** 20).toFixed(1)} MiB`);
