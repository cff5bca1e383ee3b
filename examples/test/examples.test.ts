import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { native } from '@coll/native';
import { afterEach, describe, expect, it, vi } from 'vitest';

const programOf = (example: string) => fileURLToPath(new URL(`../${example.replace(/ts$/, 'js')}`, import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

/** The lines that an example prints, with a blank one at the end. It fails where the example does, or complains. */
async function run(example: string, ...args: readonly string[]): Promise<string[]> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [programOf(example), ...args]);
  expect(stderr).toBe('');
  return stdout.split('\n');
}

/** The lines that the ranks of an example print. It fails where one of them does, or complains. */
async function launch(ranks: number, example: string, ...args: string[]): Promise<string[]> {
  const command = [launcher, 'run', '-n', String(ranks), programOf(example), ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, command);
  expect(stderr).toBe('');
  return stdout.split('\n');
}

const isNative = native.probe().available;

/** A test double of a library of NVIDIA's, where it was built. */
const doubleOf = (name: string) =>
  path.join(import.meta.dirname, `../../native/nccl/build/release/libcoll-double-${name}.so`);

afterEach(() => vi.unstubAllEnvs());

describe('the example', () => {
  it('reduce.ts reduces values', async () => {
    expect(await run('reduce.ts')).toEqual(['cpu:0 4 6', 'cpu:1 4 6', '']);
  });

  it('members.ts reduces, sends messages and splits a group', async () => {
    expect(await run('members.ts')).toEqual([
      'rank 0: mean 1.5, previous 3, neighbours 0 and 1',
      'rank 1: mean 1.5, previous 0, neighbours 0 and 1',
      'rank 2: mean 1.5, previous 1, neighbours 2 and 3',
      'rank 3: mean 1.5, previous 2, neighbours 2 and 3',
      '',
    ]);
  });

  it('sparse.ts concatenates rows, and sums rows with the same index', async () => {
    expect(await run('sparse.ts')).toEqual([
      'one after the other: 7 4 7 4 999999',
      'row 4: 1 1',
      'row 7: 1 1',
      'row 999999: 0.5 0.5',
      'dense: 2000000 elements',
      '',
    ]);
  });

  it('variables.ts keeps weights identical on both replicas, and counts separately on each replica', async () => {
    expect(await run('variables.ts')).toEqual([
      'y = 2.00 x + 1.00',
      'Variable "weights" float32 [2] on /job:localhost/replica:0/task:0/device:CPU:0',
      'Variable "weights/replica_1" float32 [2] on /job:localhost/replica:0/task:0/device:CPU:1',
      '1600 samples seen',
      '',
    ]);
  });

  it('gpus.ts trains on the CPU if there is no GPU', async () => {
    vi.stubEnv('COLL_CUDA_LIBRARY', '/nowhere/libcuda.so.1');
    expect(await run('gpus.ts')).toEqual([
      'learned 1.000 on 1 replicas',
      expect.stringMatching(/^no GPU: .*libcuda/),
      '',
    ]);
  });

  it.runIf(existsSync(doubleOf('nccl')))('gpus.ts trains on test doubles of GPUs', async () => {
    for (const name of ['cuda', 'nccl', 'nvml']) vi.stubEnv(`COLL_${name.toUpperCase()}_LIBRARY`, doubleOf(name));
    vi.stubEnv('COLL_DOUBLE_DEVICES', '4');
    const served = 'NCCL executes all-reduces across the GPUs of';
    expect(await run('gpus.ts')).toEqual(['learned 2.500 on 4 replicas', `${served} this process`, '']);
    expect(await launch(2, 'gpus.ts')).toEqual([
      '[0] learned 2.500 on 4 replicas',
      `[0] ${served} all workers and concatenates values in their memory; everything else goes through the host`,
      '',
    ]);
  });

  it('choose-a-backend.ts prints which plug-in is chosen and why, and how to install a missing one', async () => {
    const engine = isNative ? 'native' : 'wasm';
    const asked = [`ring on the ${engine} engine`, '  ring: chosen, because it was requested'];
    const notAsked = 'not asked, because direct, of a higher priority, supports these devices';
    expect(await run('choose-a-backend.ts')).toEqual([
      `direct on the ${engine} engine`,
      '  direct: chosen, because it has the highest priority of the plug-ins that support these devices',
      `  ring: ${notAsked}`,
      `  reduction-to-one: ${notAsked}`,
      ...asked,
      ...asked,
      expect.stringMatching(/^ERR_COLL_UNKNOWN_PLUGIN: .*npm install @coll\/nccl/),
      '',
    ]);
  });

  it('choose-an-engine.ts prints which engine is used, and why an engine is not available', async () => {
    const [auto, wasm, js, direct, end] = await run('choose-an-engine.ts');
    expect([wasm, js, end]).toEqual(['wasm: wasm', 'js: js', '']);
    if (isNative) expect([auto, direct]).toEqual(['auto: native', 'direct: native']);
    else {
      expect(auto).toMatch(/^auto: wasm, because native is /);
      expect(direct).toMatch(/^direct: ERR_COLL_NO_ENGINE: /);
    }
  });

  it('pack-gradients.ts trains on all data', async () => {
    expect(await run('pack-gradients.ts')).toEqual(['y = 3.00 x + 1.00', '']);
  });

  it('catch-a-timeout.ts times out, and names the missing rank', async () => {
    const lines = await run('catch-a-timeout.ts');
    expect(lines).toEqual([
      expect.stringMatching(/^gave up: .*all-reduce SUM: timed out.*replica 1 did not arrive$/),
      '',
    ]);
  });

  it('data.ts splits every batch between replicas, including a short last batch', async () => {
    expect(await run('data.ts')).toEqual([
      'even odd | even | odd, mean 3.5',
      'even odd | even | odd, mean 31.5',
      'even | odd | none, mean 72.5',
      'samples of each replica: 5, 3, 2',
      '',
    ]);
  });

  it('multi-worker.ts reduces with the algorithms that a specification lists', async () => {
    expect(await run('multi-worker.ts')).toEqual([
      'specification: pscpu/pscpu#2:1k:xring#2',
      '3 elements: 1.5 1.5 1.5 1.5',
      '4096 elements: 1.5 1.5 1.5 1.5',
      'pscpu/pscpu gathers on the CPU of each worker, which holds no component, so that the first of its devices does it instead',
      expect.stringMatching(/^ValueError: allReduceSpec entry 0 \(pscpu\/pscpu\): only 1 devices, but group_size=2/),
      '',
    ]);
  });

  it('launch starts processes that form a group', async () => {
    const lines = await launch(2, 'launch/main.ts');
    const first = lines[0]?.slice('[0] '.length);
    expect(first).toMatch(/^rank 0 is process \d+, rank 1 is process \d+$/);
    expect([...lines].sort()).toEqual(['', `[0] ${first}`, `[1] ${first}`]);
  });

  it('processes.ts sums the values of processes', async () => {
    const lines = await launch(3, 'processes.ts');
    expect(lines.sort()).toEqual(['', ...[0, 1, 2].map((rank) => `[${rank}] rank ${rank} of 3: 3 3`)]);
  });

  it('collective-all-reduce.ts averages over the devices of all processes', async () => {
    const lines = await launch(2, 'collective-all-reduce.ts');
    const device = (rank: number, index: number) => `[${rank}] cpu:${index} of process ${rank}: 1.5 1`;
    expect(lines.sort()).toEqual(['', device(0, 0), device(0, 1), device(1, 0), device(1, 1)]);
  });

  it('multi-worker-mirrored.ts trains on two workers', async () => {
    expect(await launch(2, 'multi-worker-mirrored.ts')).toEqual(['[0] y = 3.00 x + 1.00, learned by 2 replicas', '']);
  });

  it('multi-worker-mirrored.ts trains on more workers than a batch has samples', async () => {
    expect(await launch(5, 'multi-worker-mirrored.ts')).toEqual(['[0] y = 3.00 x + 1.00, learned by 5 replicas', '']);
  });

  it('cluster/train.ts trains a TensorFlow.js model on two workers', async () => {
    const lines = await launch(2, 'cluster/train.ts');
    expect(lines.filter((line) => /worker \d of 2 is ready$/.test(line))).toHaveLength(2);
    expect(lines.filter((line) => /^\[0\] epoch \d: loss \d+\.\d{4}$/.test(line))).toHaveLength(5);
  });

  it('checkpoints.ts continues from the last checkpoint after a process was lost', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'coll-checkpoints-'));
    try {
      const file = path.join(folder, 'line.json');
      const args = ['run', '-n', '2', '--max-restarts', '1', programOf('checkpoints.ts'), file, '130'];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [launcher, ...args]);
      // Rank 0 may have noticed the loss before the launcher ends it.
      expect(stderr).toMatch(/rank 1 exited with code 1;( ended rank 0;)? restart 1 of 1/);
      const lines = ['starts at step 0', 'starts at step 100', 'y = 2.00 x + 1.00'];
      expect(stdout.split('\n')).toEqual([...lines.map((line) => `[0] ${line}`), '']);
      expect(await launch(3, 'checkpoints.ts', file)).toEqual(['[0] starts at step 300', `[0] ${lines[2]}`, '']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('steps trains with one run per step, in threads of one process and of two', async () => {
    const lines = ['epoch 30: loss 0.00002', 'epoch 60: loss 0.00000', 'y = 2.00 x + 1.00'];
    expect(await run('steps/main.ts')).toEqual([...lines, '']);
    expect(await launch(2, 'steps/main.ts')).toEqual([...lines.map((line) => `[0] ${line}`), '']);
  });

  it('fit continues where its last checkpoint ended', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'coll-fit-'));
    try {
      const checkpoints = path.join(folder, 'checkpoints');
      const first = await run('fit/main.ts', checkpoints, '2');
      expect(first).toContainEqual(
        expect.stringMatching(/^\[0\] epoch 1\/2 · step 16 · .* · val_acc 0\.\d+ .* waiting, .* exchange$/),
      );
      expect(first.at(-2)).toBe('2 epochs are complete');
      const second = await run('fit/main.ts', checkpoints, '3');
      expect((await readFile(`${checkpoints}.jsonl`, 'utf8')).match(/"epoch":\d/g)).toEqual([
        '"epoch":0',
        '"epoch":1',
        '"epoch":2',
      ]);
      expect(second[0]).toMatch(/^\[0\] epoch 3\/3 · /);
      expect(second.at(-2)).toBe('3 epochs are complete');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('tfjs trains a script of one core on several cores and processes', async () => {
    const accurate = (label: string) =>
      expect.stringMatching(new RegExp(`^${label}epoch 10: loss 0\\.\\d+, accuracy (0\\.9\\d|1\\.00)$`));
    const folder = await mkdtemp(path.join(tmpdir(), 'coll-tfjs-'));
    try {
      expect((await run('tfjs/before.ts')).slice(9)).toEqual([accurate(''), '']);
      expect((await run('tfjs/main.ts', folder)).slice(9)).toEqual([accurate('\\[0\\] '), '']);
      expect(await readdir(folder)).toEqual(['model.json', 'weights.bin']);
      expect((await launch(2, 'tfjs/main.ts', folder)).slice(9)).toEqual([accurate('\\[0\\.0\\] '), '']);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('write-an-algorithm draws its tree, prints its cost, and reduces in one thread and in four threads', async () => {
    expect(await run('write-an-algorithm/main.ts')).toEqual([
      'round 0 | 1 -(0)+> 0   3 -(0)+> 2',
      'round 1 | 2 -(0)+> 0',
      'round 2 | 0 -(0)-> 2',
      'round 3 | 0 -(0)-> 1   2 -(0)-> 3',
      '4 rounds, about 4.4 ms for 1 MiB at 10 microseconds and 1 GB/s',
      'in one thread: 6, 6, 6, 6',
      'in four threads: 6, 6, 6, 6',
      '',
    ]);
  });

  it('compress-between-hosts rounds to bfloat16 between two workers, in one thread and in two threads each', async () => {
    const printed = await launch(2, 'compress-between-hosts/main.ts');
    expect(printed.filter((line) => line.startsWith('[0]'))).toEqual([
      '[0] one thread per worker: 4, 1.3359375, 1024',
      '[0] a thread per replica: 4, 1.3359375, 1024',
    ]);
  });
});
