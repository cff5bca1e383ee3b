// Uses only Node's own modules, because nothing is installed yet.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { showPhase } from './progress.mjs';
import { root, run } from './run.mjs';

const lock = path.join(root, 'package-lock.json');
const stamp = path.join(root, 'node_modules/.coll-installed');
const npmsRecord = path.join(root, 'node_modules/.package-lock.json');

const node = process.execPath;
const npm = process.env.npm_execpath === undefined ? ['npm'] : [node, process.env.npm_execpath];

/** The parts that can be installed: for `npm start`, or for the whole repository. */
const parts = {
  start: { doing: 'npm packages of the training example', workspaces: ['@coll/examples', '@coll/native'] },
  everything: { doing: 'all npm packages', workspaces: [] },
};

/** Prepares the training example. It runs from sources, so only the engine is built. */
export async function prepareStart() {
  const installing = install('start');
  await together(installing, compileEngine(installing));
  if ((await installing) === 'start')
    process.stderr.write('This is what training needs. `npm run build` installs and builds the rest.\n');
}

/**
 * Installs missing packages and compiles the engine. Tests run from sources; tests that need a build make
 * it themselves.
 */
export async function prepareTests() {
  const installing = install('everything');
  await together(installing, compileEngine(installing));
}

/** Installs missing packages and builds everything. */
export async function prepare() {
  await prepareTests();
  await together(compileNccl());
  await together(compileMpi());
  await together(buildPackages());
}

/** Waits until all phases have ended, and ends the process if one has failed. */
async function together(...phases) {
  const results = await Promise.allSettled(phases);
  if (results.every(({ status }) => status === 'fulfilled')) return;
  const { reason } = ending.signal;
  if (reason instanceof PhaseFailed) process.exit(reason.code);
  throw reason;
}

/**
 * Installs a part unless it is installed. Earlier installations stay.
 * @returns the part that has been installed, if any
 */
async function install(part) {
  const before = installedPart();
  if (before === part || before === 'everything') return;
  const wanted = wantedBefore() ?? part;
  const { doing, workspaces } = parts[wanted];
  // `npm install` adds packages faster than `npm ci`, which first removes all, but needs an intact folder.
  const command = before === undefined ? ['ci', ...workspaces.flatMap((it) => ['-w', it])] : ['install', '--no-save'];
  await phase('install', doing, async (step) => {
    // npm writes this file at its end. Without the file, an interrupted installation starts again.
    rmSync(npmsRecord, { force: true });
    // Without these options, NODE_ENV=production would omit the build tools, and `npm --silent` would hide the reason
    // of a failure.
    await step([...npm, ...command, '--include=dev', '--loglevel=notice', '--no-audit', '--no-fund']);
    writeFileSync(stamp, stampOf(wanted));
  });
  return wanted;
}

/** Compiles the native engine. Only its addon needs npm packages; the rest is compiled during the installation. */
function compileEngine(installing) {
  return phase('engine', 'the native engine, from C++', async (step) => {
    // nx would take a second, and would hide the notices of targets that succeed.
    const build = [node, 'native/engine/build.mjs'];
    if (installedPart() === undefined && (await step([...build, 'early'])).length > 0) return;
    await installing;
    await step(build);
  });
}

/** Compiles the addon for NVIDIA's NCCL. */
function compileNccl() {
  return phase('nccl', 'the addon for NVIDIA GPUs, from C++', (step) => step([node, 'native/nccl/build.mjs']));
}

/** Compiles the addon for MPI. No MPI library is needed. */
function compileMpi() {
  return phase('mpi', 'the addon for MPI, from C++', (step) => step([node, 'native/mpi/build.mjs']));
}

/** Builds every package: JavaScript in `dist`, declarations in `types`. */
function buildPackages() {
  // With plug-ins, nx would start a process for each of them, which takes half of its time if nothing has changed.
  process.env.NX_ISOLATE_PLUGINS = 'false';
  return phase('build', 'the packages', (step) => step([...installed('nx'), 'run-many', '-t', 'build']));
}

/**
 * Runs a TypeScript program of this repository, and exits with its exit code. `conditions` are conditions
 * of package exports.
 */
export async function becomeProgram(file, args, conditions = []) {
  const flags = ['--import', 'tsx', ...conditions.map((condition) => `--conditions=${condition}`)];
  process.exit((await run([node, ...flags, file, ...args], { name: file })).code);
}

/** Runs a JavaScript program, and exits with its exit code. */
export async function becomeScript(file, args) {
  process.exit((await run([node, file, ...args], { name: file })).code);
}

/** Runs an installed command. Returns its exit code. */
export async function runCommand(name, args) {
  return (await run([...installed(name), ...args], { name })).code;
}

/** The part that is installed, or undefined. */
function installedPart() {
  if (!existsSync(npmsRecord)) return undefined;
  const part = Object.keys(parts).find((it) => readStamp() === stampOf(it));
  if (part !== undefined) return part;
  // A manual `npm install` leaves no stamp, but a record that is newer than the lock.
  return statSync(npmsRecord).mtimeMs >= statSync(lock).mtimeMs ? 'everything' : undefined;
}

/** The part to install after the lock has changed: everything, if everything was installed before. */
function wantedBefore() {
  return existsSync(npmsRecord) && !readStamp().startsWith('start') ? 'everything' : undefined;
}

const readStamp = () => (existsSync(stamp) ? readFileSync(stamp, 'utf8') : '');
const stampOf = (part) => `${part} ${createHash('sha256').update(readFileSync(lock)).digest('hex')}\n`;

function installed(command) {
  const folder = path.join(root, 'node_modules', command);
  const { bin } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  return [node, path.join(folder, bin[command])];
}

/** The notices of a successful command, such as that a native part was left out. */
const noticesIn = (output) => output.match(/^(native engine|nccl|mpi): .*\n/gm) ?? [];

/** The last line that shows progress, such as `[ 40%] …` or `[2/5] …`; undefined without one. */
const progressIn = (text) => text.match(/^\[.*/gm)?.at(-1);

/** Aborted by the first failure, with the failure as its reason. */
const ending = new AbortController();

/**
 * Shows a phase while `work` runs its steps, each a command. The first phase that fails prints the output
 * of its command and ends the other phases. `step` returns the notices of its command.
 * @throws PhaseFailed with the exit code
 */
async function phase(name, doing, work) {
  const line = showPhase(name, doing);
  let notices = [];
  const step = async (command) => {
    ending.signal.throwIfAborted();
    const onOutput = (text) => line.detail(progressIn(text));
    const { code, stoppedWith, output } = await run(command, { onOutput, abort: ending.signal, name });
    if (code !== 0 || stoppedWith !== undefined) throw new PhaseFailed(stoppedWith ?? code, stoppedWith, output);
    notices = noticesIn(output);
    return notices;
  };
  try {
    await work(step);
    line.end(notices.length > 0 ? 'left out' : 'done', notices.join(''));
  } catch (error) {
    const isStopped = ending.signal.aborted || error.stoppedWith !== undefined;
    ending.abort(error);
    line.end(isStopped ? 'stopped' : 'failed', isStopped ? '' : error.output);
    throw error;
  }
}

class PhaseFailed extends Error {
  constructor(code, stoppedWith, output) {
    super(`a command of the phase ended with ${code}`);
    this.code = code;
    this.stoppedWith = stoppedWith;
    this.output = output;
  }
}
