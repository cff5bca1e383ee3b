// Makes cpp/kernels/kernels_ptx.inc from kernels.cu, which needs nvcc and ptxas of CUDA 13: `node tools/make-ptx.mjs`. With `check` it changes
// nothing: it says whether the committed text is that of the source and, where the tools are here, whether every architecture takes it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const kernels = path.resolve(import.meta.dirname, '../cpp/kernels');
const sources = ['kernels.cu', 'numbers.cuh', 'instances.inc'].map((name) => path.join(kernels, name));
const target = path.join(kernels, 'kernels_ptx.inc');

// nvcc names the newest PTX that it knows, which older drivers refuse; the code itself needs no more than this.
const oldestPtx = '6.3';
const oldestArchitecture = 'sm_75';
const architectures = ['sm_75', 'sm_80', 'sm_86', 'sm_89', 'sm_90', 'sm_100', 'sm_103', 'sm_120'];
const flags = ['-std=c++17', '-O3', '-fmad=false', '--ptx', `-arch=${oldestArchitecture}`];

const hash = createHash('sha256')
  .update(sources.map((source) => readFileSync(source, 'utf8')).join('\0'))
  .digest('hex');
const isCheck = process.argv[2] === 'check';
const scratch = mkdtempSync(path.join(tmpdir(), 'coll-ptx-'));
try {
  if (isCheck) check();
  else make();
} finally {
  rmSync(scratch, { recursive: true });
}

function make() {
  writeFileSync(target, wrapped(compiled()));
  assemble(target);
}

function check() {
  const committed = readFileSync(target, 'utf8');
  if (!committed.includes(`// source: ${hash}`))
    fail('kernels_ptx.inc is not made from these kernels: node native/nccl/tools/make-ptx.mjs');
  if (has('nvcc') && committed.includes(buildOf(compiled())) && wrapped(compiled()) !== committed)
    fail('kernels_ptx.inc is not what this nvcc makes of the kernels');
  if (has('ptxas')) assemble(target);
  else console.log('kernels: the text is that of the source; there is no ptxas here to assemble it');
}

/** The compiler's build, which has to be the same for the same text. */
function buildOf(ptx) {
  return /Compiler Build ID: \S+/.exec(ptx)[0];
}

function compiled() {
  const into = path.join(scratch, 'kernels.ptx');
  run('nvcc', [...flags, sources[0], '-o', into]);
  return readFileSync(into, 'utf8').replace(/^\.version .*$/m, `.version ${oldestPtx}`);
}

function wrapped(ptx) {
  return `R"ptx(// source: ${hash}\n${ptx.trim()}\n)ptx"\n`;
}

function assemble(file) {
  const text = readFileSync(file, 'utf8').split('\n').slice(1, -2).join('\n');
  const plain = path.join(scratch, 'plain.ptx');
  writeFileSync(plain, `${text}\n`);
  for (const architecture of architectures) {
    const said = run('ptxas', [`-arch=${architecture}`, '--verbose', plain, '-o', path.join(scratch, 'cubin')]);
    const registers = Math.max(...[...said.matchAll(/Used (\d+) registers/g)].map((match) => Number(match[1])));
    const spilled = [...said.matchAll(/(\d+) bytes spill stores/g)].reduce((sum, match) => sum + Number(match[1]), 0);
    console.log(`kernels: ${architecture} takes them, up to ${registers} registers, ${spilled} bytes spilled`);
  }
}

function has(command) {
  return spawnSync(command, ['--version']).status === 0;
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) fail(`${command} failed: ${stderr}`);
  return `${stdout}${stderr}`;
}

function fail(message) {
  console.error(`kernels: ${message}`);
  process.exit(1);
}
