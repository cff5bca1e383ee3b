// Runs before anything is installed: Node's own modules only.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { root, run } from './run.mjs';

const lock = path.join(root, 'package-lock.json');
const stamp = path.join(root, 'node_modules/.coll-lock-hash');
const npmsRecord = path.join(root, 'node_modules/.package-lock.json');

const node = process.execPath;
const npm = process.env.npm_execpath === undefined ? ['npm'] : [node, process.env.npm_execpath];

/** Installs what is missing and builds. Reports to stderr, because stdout belongs to the program that follows. */
export async function prepare() {
  if (!isInstalled()) {
    // Without these, NODE_ENV=production would leave out the build tools, and `npm --silent` the reason of a failure.
    await quietly('install', [...npm, 'ci', '--include=dev', '--loglevel=notice', '--no-audit', '--no-fund']);
    writeFileSync(stamp, lockHash());
  }
  // Not through nx, which costs a second and keeps to itself what a target says that succeeds.
  await quietly('native', [node, 'native/engine/build.mjs']);
  await quietly('nccl', [node, 'native/nccl/build.mjs']);
  await quietly('build', [...installed('nx'), 'run-many', '-t', 'build']);
}

/** Runs a TypeScript program of this repository and ends as it ends. */
export async function becomeProgram(file, args) {
  process.exit((await run([node, '--import', 'tsx', file, ...args])).code);
}

/** Runs an installed command and ends as it ends. */
export async function becomeCommand(name, args) {
  process.exit((await run([...installed(name), ...args])).code);
}

const lockHash = () => createHash('sha256').update(readFileSync(lock)).digest('hex');

function isInstalled() {
  if (!existsSync(npmsRecord)) return false;
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return true;
  // An `npm install` by hand leaves no stamp, but a record younger than the lock.
  return statSync(npmsRecord).mtimeMs >= statSync(lock).mtimeMs;
}

function installed(command) {
  const folder = path.join(root, 'node_modules', command);
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return [node, path.join(folder, bin[command])];
}

/** What a phase that succeeded has to say all the same: that it did without a native part. */
const noticesIn = (output) => (output.match(/^(native engine|nccl): .*\n/gm) ?? []).join('');

async function quietly(phase, command) {
  process.stderr.write(`${phase} ... `);
  const begin = performance.now();
  const { code, stoppedWith, output } = await run(command, { collectOutput: true });
  const seconds = ((performance.now() - begin) / 1000).toFixed(1);
  if (code === 0 && stoppedWith === undefined) {
    process.stderr.write(`${seconds} s\n${noticesIn(output)}`);
    return;
  }
  process.stderr.write(stoppedWith === undefined ? `failed after ${seconds} s\n${output}` : 'stopped\n');
  process.exit(stoppedWith ?? code);
}
