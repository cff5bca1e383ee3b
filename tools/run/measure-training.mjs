// Measures how fast the training example trains by framework, batch and number of replicas, and writes the results to
// docs/figures/training.jsonl and README.md: `npm run measure -- training`.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import path from 'node:path';
import { prepareStart } from './phases.mjs';
import { root } from './run.mjs';
import { trainingTable } from './training-table.mjs';

const batches = [64, 256, 1024, 2048];
const replicaCounts = [2, 4, 8].filter((count) => count <= availableParallelism());
const steps = { 'jax-js': 40, tfjs: 16 };

export async function measureTraining() {
  await prepareStart();
  const machine = { cpu: cpus()[0].model, cores: availableParallelism(), date: new Date().toISOString().slice(0, 10) };
  const rows = [];
  for (const framework of ['jax-js', 'tfjs']) {
    for (const batch of batches) for (const replicas of replicaCounts) rows.push(measured(framework, batch, replicas));
  }
  const lines = rows.map((row) => JSON.stringify({ ...row, ...machine }));
  writeFileSync(path.join(root, 'docs/figures/training.jsonl'), `${lines.join('\n')}\n`);
  const readme = path.join(root, 'README.md');
  const table = trainingTable(lines.map((line) => JSON.parse(line)));
  writeFileSync(readme, withTable(readFileSync(readme, 'utf8'), table));
  console.log(table);
}

/** A text with this table between its marks. */
export function withTable(text, table) {
  const [begin, end] = ['<!-- training -->', '<!-- /training -->'].map((mark) => text.indexOf(mark));
  if (begin < 0 || end < begin) throw new Error('README.md has no <!-- training --> and <!-- /training -->');
  return `${text.slice(0, begin)}<!-- training -->\n\n${table}\n\n${text.slice(end)}`;
}

function measured(framework, batch, replicas) {
  const options = ['--framework', framework, '--batch-size', batch, '--replicas', replicas, '--json'];
  const course = ['--epochs', 1, '--samples', batch * steps[framework]];
  const program = ['--import', 'tsx', '--conditions=@coll/source', 'examples/train/main.ts'];
  const args = [...program, ...options, ...course].map(String);
  const { status, stdout } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`);
  const { warning, identical, ...row } = JSON.parse(stdout);
  if (warning !== undefined) throw new Error(`${framework}, batch ${batch}: ${warning}; end them, and measure again`);
  console.log(`${framework}, batch ${batch}, ${replicas} replicas: ${Math.round(row.samplesPerSecond)} samples/s`);
  return row;
}
