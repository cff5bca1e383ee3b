// Uses only Node's own modules, because nothing is installed yet.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { showPhase } from './progress.mjs';
import { root, run } from './run.mjs';

const lock = path.join(root, 'package-lock.json');
const stamp = path.join(root, 'node_modules/.coll-workspaces');
const npmsRecord = path.join(root, 'node_modules/.package-lock.json');

const node = process.execPath;
export const npm = process.env.npm_execpath === undefined ? ['npm'] : [node, process.env.npm_execpath];

/** In place of the names of workspaces: all of them. */
const all = '*';

/** Prepares the training example. It runs from sources, so only the engine is built. */
export async function prepareStart() {
  const installing = install(['@coll/examples', '@coll/native'], 'npm packages of the training example', 20);
  await together(installing, compileEngine(installing));
  if (await installing)
    process.stderr.write('This is what training needs. `npm run build` installs and builds the rest.\n');
}

/**
 * Installs missing packages and compiles the engine. Tests run from sources; tests that need a build make
 * it themselves.
 */
export async function prepareTests() {
  const installing = install([all], 'all npm packages', 60);
  await together(installing, compileEngine(installing));
}

/** Installs missing packages and builds everything. */
export async function prepare() {
  await prepareTests();
  await together(compileAddon('nccl'));
  await together(compileAddon('mpi'));
  await together(buildPackages());
}

/** Builds some packages of this repository, given as their folders by name, and installs only what that needs. */
export async function preparePackages(folders) {
  const names = [...folders.keys()];
  const isWanted = (folder) => [...folders.values()].includes(folder);
  const installing = install([...names, '@coll/tsup'], `npm packages that build ${names.length} packages`, 15);
  const engine = isWanted('native/engine') ? [compileEngine(installing)] : [];
  await together(
    installing,
    ...engine,
    installing.then(() => buildOnly(folders)),
  );
  for (const name of Object.keys(addons)) if (isWanted(`native/${name}`)) await together(compileAddon(name));
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
 * Installs the packages of workspaces unless they are installed. Earlier installations stay.
 * @returns whether something was installed, and not everything
 */
async function install(workspaces, doing, usualSeconds) {
  const before = installation();
  const covers = (names) => names.includes(all) || workspaces.every((name) => names.includes(name));
  if (before.isCurrent && covers(before.workspaces)) return false;
  const wanted = covers(before.workspaces) ? before.workspaces : [...new Set([...before.workspaces, ...workspaces])];
  const selection = wanted.includes(all) ? [] : wanted.flatMap((name) => ['-w', name]);
  // `npm install` adds packages faster than `npm ci`, which first removes all, but needs an intact folder.
  const command = before.workspaces.length === 0 ? ['ci'] : ['install', '--no-save'];
  await phase('install', doing, usualSeconds, async (step) => {
    // npm writes this file at its end. Without the file, an interrupted installation starts again.
    rmSync(npmsRecord, { force: true });
    // Without these options, NODE_ENV=production would omit the build tools, and `npm --silent` would hide the reason
    // of a failure.
    await step([...npm, ...command, ...selection, '--include=dev', '--loglevel=notice', '--no-audit', '--no-fund']);
    writeFileSync(stamp, `${[hashOfLock(), ...wanted].join(' ')}\n`);
  });
  return selection.length > 0;
}

/** Compiles the native engine. Only its addon needs npm packages; the rest is compiled during the installation. */
function compileEngine(installing) {
  return phase('engine', 'the native engine, from C++', 60, async (step) => {
    // nx would take a second, and would hide the notices of targets that succeed.
    const build = [node, 'native/engine/build.mjs'];
    if (!installation().isCurrent && (await step([...build, 'early'])).length > 0) return;
    await installing;
    await step(build);
  });
}

/** The addons: what they are for, and how many seconds it takes to compile them. No NVIDIA or MPI library is needed. */
const addons = { nccl: ['the addon for NVIDIA GPUs, from C++', 60], mpi: ['the addon for MPI, from C++', 30] };

function compileAddon(name) {
  return phase(name, ...addons[name], (step) => step([node, `native/${name}/build.mjs`]));
}

/** Builds every package: JavaScript in `dist`, declarations in `types`. */
function buildPackages() {
  return phase('build', 'the packages', 60, (step) => step(nxBuild()));
}

/**
 * Builds some packages. nx takes longer to install than they take to build, but if it is there, it has what has not
 * changed in its cache.
 */
function buildOnly(folders) {
  const names = [...folders.keys()];
  const hasNx = existsSync(path.join(root, 'node_modules/nx'));
  const build = hasNx
    ? nxBuild('-p', names.join())
    : [...npm, 'run', 'build', ...names.flatMap((name) => ['-w', name])];
  return phase('build', `${folders.size} packages`, 15, (step) =>
    Promise.all([step(build), step([...installed('typescript', 'tsc'), '-b', '--noCheck', ...folders.values()])]),
  );
}

function nxBuild(...selection) {
  // With plug-ins, nx would start a process for each of them, which takes half of its time if nothing has changed.
  process.env.NX_ISOLATE_PLUGINS = 'false';
  return [...installed('nx'), 'run-many', '-t', 'build', ...selection];
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

/** The workspaces whose packages are installed, and whether that was by the present lock. */
function installation() {
  if (!existsSync(npmsRecord)) return { workspaces: [], isCurrent: false };
  const [hash, ...workspaces] = existsSync(stamp) ? readFileSync(stamp, 'utf8').trim().split(' ') : [];
  if (hash === hashOfLock()) return { workspaces, isCurrent: true };
  // A manual `npm install` leaves no stamp, but a record that is newer than the lock.
  if (statSync(npmsRecord).mtimeMs >= statSync(lock).mtimeMs) return { workspaces: [all], isCurrent: true };
  return { workspaces: hash === undefined ? [all] : workspaces, isCurrent: false };
}

const hashOfLock = () => createHash('sha256').update(readFileSync(lock)).digest('hex');

function installed(name, command = name) {
  const folder = path.join(root, 'node_modules', name);
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
export async function phase(name, doing, usualSeconds, work) {
  const line = showPhase(name, doing, usualSeconds);
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
