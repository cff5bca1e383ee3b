// How long the two commands of the README take in a fresh clone of the last commit, by phase, on Linux:
// `npm run measure -- start|test [without-compiler]`. `test` runs after `start`, in the same clone.
// `npm run measure -- training` measures the training example instead.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { cpuSecondsOfChildren, cpuSecondsOfTree } from './cpu-seconds.mjs';
import { measureTraining } from './measure-training.mjs';
import { root } from './run.mjs';

const lastCharacters = 1500;

const [wanted, option] = process.argv.slice(2);
if (wanted === 'training' && option === undefined) {
  await measureTraining();
  process.exit();
}
if (!['start', 'test'].includes(wanted) || ![undefined, 'without-compiler'].includes(option)) {
  console.error('npm run measure -- start|test [without-compiler], or npm run measure -- training');
  process.exit(2);
}

const scratch = mkdtempSync(path.join(tmpdir(), 'coll-measure-'));
const clone = path.join(scratch, 'coll');
const records = path.join(scratch, 'records');
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }));
spawnSync('git', ['clone', '--quiet', '--no-local', root, clone], { stdio: 'inherit' });

console.log(`${cpus().length} x ${cpus()[0].model}, Node ${process.version}`);
process.exitCode = await measure('start');
if (wanted === 'test' && process.exitCode === 0) process.exitCode = await measure('test');

/** Runs one of the commands, prints what it took, and returns its exit code. */
async function measure(command) {
  const begin = performance.now();
  const cpuSecondsBefore = cpuSecondsOfChildren();
  const wallSeconds = () => (performance.now() - begin) / 1000;
  const compiler = option === undefined ? {} : { CXX: 'no-compiler' };
  const env = { ...process.env, ...compiler, COLL_MEASURE: records };
  const child = spawn('npm', [command], { cwd: clone, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let firstEpoch;
  let lastText = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    if (/^epoch /m.test(text))
      firstEpoch ??= row('until the first epoch line', wallSeconds(), cpuSecondsOfTree(child.pid));
    lastText = `${lastText}${text}`.slice(-lastCharacters);
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  console.log(`${lastText}\n${row(`npm ${command}`, 'wall s', 'CPU s')}`);
  for (const { name, wallSeconds: wall, cpuSeconds } of readRecords()) console.log(row(`  ${name}`, wall, cpuSeconds));
  if (firstEpoch !== undefined) console.log(firstEpoch);
  console.log(row('in all', wallSeconds(), cpuSecondsOfChildren() - cpuSecondsBefore));
  return code ?? 1;
}

/** The commands of all phases since the last call. Commands that run in parallel overlap. */
function readRecords() {
  if (!existsSync(records)) return [];
  const lines = readFileSync(records, 'utf8').trimEnd().split('\n');
  rmSync(records);
  return lines.map((line) => JSON.parse(line));
}

function row(name, wall, cpu) {
  const cell = (value) => (typeof value === 'number' ? value.toFixed(1) : value).padStart(8);
  return `${name.padEnd(30)}${cell(wall)}${cell(cpu)}`;
}
