import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./main.ts', import.meta.url));
const launcher = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));

/** Starts it by itself, or as so many ranks of the launcher. */
function start(args: string, ranks?: number) {
  const before = ranks === undefined ? [] : [launcher, 'run', '-n', String(ranks)];
  const child = spawn(process.execPath, [...before, program, ...args.split(' ')]);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  const ended = once(child, 'close').then(([code]) => ({ ...output, code: code as number }));
  return { child, ended };
}

describe('the training example', () => {
  it('trains on two replicas, which end with the same weights', async () => {
    const { code, stdout, stderr } = await start('--epochs 1 --samples 512 --batch-size 64').ended;
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^one process in jax-js, 64 digits in a step$/m);
    expect(stdout).toMatch(
      /^2 replicas in jax-js by direct, 32 of 64 digits each, (native engine|(wasm|js) engine \(native: .+\))$/m,
    );
    expect(stdout).toMatch(/^epoch 1\/1 · loss \d\.\d{3} · [\d,]+ samples\/s$/m);
    expect(stdout).toMatch(/one process .* 2 replicas/);
    expect(stdout).toMatch(/speed-up .* \d+\.\d\d x/);
    expect(stdout).toMatch(/waiting, of a step .* \d+\.\d %/);
    expect(stdout).toMatch(/test accuracy .* \d+\.\d %/);
    expect(stdout).toMatch(/\nweights identical on both replicas: yes\n/);
    expect(stdout).toMatch(
      /\nthe same model in tfjs: [\d,]+ samples per second in one process, [\d,]+ with 2 replicas\n$/,
    );
    expect(code).toBe(0);
  });

  it('trains in TensorFlow.js, and prints its results as JSON', async () => {
    const { code, stdout } = await start('--framework tfjs --epochs 1 --samples 512 --batch-size 64 --json').ended;
    const results = JSON.parse(stdout) as Record<string, unknown>;
    expect(results).toMatchObject({ framework: 'tfjs', batchSize: 64, replicas: 2, identical: true });
    for (const name of ['samplesPerSecond', 'samplesPerSecondOfOne', 'waiting', 'exchange', 'accuracy'])
      expect(results).toHaveProperty(name, expect.any(Number));
    expect(code).toBe(0);
  });

  it('trains on four replicas with another algorithm and engine', async () => {
    const { code, stdout } = await start(
      '--replicas 4 --ops reduction-to-one --engine js --epochs 1 --samples 128 --batch-size 32',
    ).ended;
    expect(stdout).toMatch(/^4 replicas in jax-js by reduction-to-one, 8 of 32 digits each, js engine$/m);
    expect(stdout).toMatch(/\nweights identical on all 4 replicas: yes\n/);
    expect(code).toBe(0);
  });

  it('has the same losses on two workers as with two replicas of one worker', async () => {
    const settings = '--epochs 2 --samples 256 --batch-size 64';
    const [together, here] = await Promise.all([
      start(`--replicas 1 ${settings}`, 2).ended,
      start(`--replicas 2 ${settings}`).ended,
    ]);
    expect(together.stderr).toBe('');
    expect(together.stdout).toMatch(
      /^\[0\] 2 replicas in jax-js on 2 workers by shared-memory, 32 of 64 digits each$/m,
    );
    expect(together.stdout).toMatch(/^\[0\] 2 workers, connected by shared-memory$/m);
    expect(together.stdout).toMatch(/^\[0\] weights identical on all 2 workers: yes$/m);
    expect(together.code).toBe(0);
    const lossesOf = ({ stdout }: { readonly stdout: string }) => stdout.match(/epoch .\/2 · loss \d\.\d{3}/g);
    expect(lossesOf(together)).toHaveLength(2);
    expect(lossesOf(together)).toEqual(lossesOf(here));
    const accuracyOf = ({ stdout }: { readonly stdout: string }) => /test accuracy .* (\d+\.\d) %/.exec(stdout)?.[1];
    expect(accuracyOf(together)).toBe(accuracyOf(here));
  });

  it('trains as a single worker', async () => {
    const { code, stdout } = await start('--replicas 1 --epochs 1 --samples 64 --batch-size 32', 1).ended;
    expect(stdout).toMatch(/^\[0\] 1 replica in jax-js on one worker, 32 of 32 digits each$/m);
    expect(code).toBe(0);
  });

  it('prints its options', async () => {
    const { code, stdout } = await start('--help').ended;
    expect(stdout).toContain('--replicas <n>');
    expect(code).toBe(0);
  });

  it('exits with code 2 if an option has a wrong value', async () => {
    const { code, stdout, stderr } = await start('--ops rings').ended;
    expect(stderr).toBe('--ops must be one of direct, reduction-to-one, ring, auto, got "rings"\n');
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('exits at once when it is interrupted, including replicas that wait for each other', async () => {
    const { child, ended } = start('--epochs 5000 --samples 16 --batch-size 16');
    const trains = new Promise<void>((resolve) => {
      child.stdout.on('data', (text: string) => text.includes('epoch 2/5000') && resolve());
    });
    await Promise.race([trains, ended]);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
  });
});
