// Runs before anything is installed: Node's own modules only.
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

/** What can be installed: what `npm start` needs, or all that the repository uses. */
const parts = {
  start: { doing: 'npm packages of the training example', workspaces: ['@coll/examples', '@coll/native'] },
  everything: { doing: 'all npm packages', workspaces: [] },
};

/** Prepares the training example: it runs from the sources of the packages, so that only the engine is built. */
export async function prepareStart() {
  const installing = install('start');
  await together(installing, compileEngine(installing));
  if ((await installing) === 'start')
    process.stderr.write('This is what training needs. `npm run build` installs and builds the rest.\n');
}

/** Installs what is missing and compiles the engine: tests run from sources, and those that need more build it themselves. */
export async function prepareTests() {
  const installing = install('everything');
  await together(installing, compileEngine(installing));
}

/** Installs what is missing and builds everything. */
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

/** Installs a part unless it is there. What was installed before stays. Returns the part that has been installed, if any. */
async function install(part) {
  const before = installedPart();
  if (before === part || before === 'everything') return;
  const wanted = wantedBefore() ?? part;
  const { doing, workspaces } = parts[wanted];
  // Adding to what is there takes less than npm ci, which begins by removing it, but is for a folder that is in order only.
  const command = before === undefined ? ['ci', ...workspaces.flatMap((it) => ['-w', it])] : ['install', '--no-save'];
  await phase('install', doing, async (step) => {
    // npm writes it again at its end: without it an installation that was interrupted is begun anew.
    rmSync(npmsRecord, { force: true });
    // Without these, NODE_ENV=production would leave out the build tools, and `npm --silent` the reason of a failure.
    await step([...npm, ...command, '--include=dev', '--loglevel=notice', '--no-audit', '--no-fund']);
    writeFileSync(stamp, stampOf(wanted));
  });
  return wanted;
}

/** Compiles the native engine. Only its addon needs npm packages; the rest is compiled while they are installed. */
function compileEngine(installing) {
  return phase('engine', 'the native engine, from C++', async (step) => {
    // Not through nx, which costs a second and keeps to itself what a target says that succeeds.
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

/** Compiles the addon for MPI, which needs no MPI. */
function compileMpi() {
  return phase('mpi', 'the addon for MPI, from C++', (step) => step([node, 'native/mpi/build.mjs']));
}

/** Builds every package: JavaScript in `dist`, declarations in `types`. */
function buildPackages() {
  // nx would start a process for each of its plug-ins, which takes half of its time when nothing has changed.
  process.env.NX_ISOLATE_PLUGINS = 'false';
  return phase('build', 'the packages', (step) => step([...installed('nx'), 'run-many', '-t', 'build']));
}

/** Runs a TypeScript program of this repository and ends as it ends. `conditions` of package exports are Node's. */
export async function becomeProgram(file, args, conditions = []) {
  const flags = ['--import', 'tsx', ...conditions.map((condition) => `--conditions=${condition}`)];
  process.exit((await run([node, ...flags, file, ...args], { name: file })).code);
}

/** Runs a JavaScript program and ends as it ends. */
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
  // An `npm install` by hand leaves no stamp, but a record younger than the lock.
  return statSync(npmsRecord).mtimeMs >= statSync(lock).mtimeMs ? 'everything' : undefined;
}

/** Whoever had everything gets everything again after the lock has changed. */
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

/** What a command that succeeded has to say all the same: that a native part was left out. */
const noticesIn = (output) => output.match(/^(native engine|nccl|mpi): .*\n/gm) ?? [];

/** The last line that says how far a command is, such as `[ 40%] …` or `[2/5] …`; undefined without one. */
const progressIn = (text) => text.match(/^\[.*/gm)?.at(-1);

/** Aborted by the first failure, which is its reason. */
const ending = new AbortController();

/**
 * Shows a phase while `work` runs its steps, each a command. The first phase that fails prints the output of its command and ends the others.
 * `step` returns the notices of its command.
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
