import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import '../../../native/nccl/test/doubles.ts';
import { makeParts } from '../src/bundle.js';
import type { StepResult } from '../src/step.js';

const folder = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
const bundle = path.join(folder, 'bundle');
const benchmarks = ['overhead', 'device-memory', 'staging', 'torch'];

/** Runs all checks from the packed files. */
function check(reports: string, args: readonly string[], env: NodeJS.ProcessEnv) {
  const environment = {
    ...process.env,
    COLL_DOUBLE_DEVICES: '1',
    COLL_NCCL_PATH: path.join(bundle, 'coll_nccl.node'),
    COLL_NATIVE_PATH: path.join(bundle, 'coll_native.node'),
    ...env,
  };
  const program = [path.join(bundle, 'gpu-check.mjs'), ...args, reports];
  const options = { cwd: folder, env: environment, encoding: 'utf8', timeout: 290_000 } as const;
  const ended = spawnSync(process.execPath, program, options);
  const [file = ''] = readdirSync(reports);
  const { isDouble, results } = JSON.parse(readFileSync(path.join(reports, file), 'utf8'));
  expect([file.endsWith('-double.json'), isDouble]).toEqual([true, true]);
  return { ended, results: results as readonly StepResult[] };
}

describe('the gpu-check bundle on test doubles', () => {
  beforeAll(() => makeParts(bundle));
  afterAll(() => rmSync(folder, { recursive: true }));

  describe('with a test double of PyTorch', () => {
    let ended: SpawnSyncReturns<string>;
    let results: readonly StepResult[] = [];

    beforeAll(() => {
      // The place where the loader finds a part of PyTorch.
      const library = path.join(folder, 'torch/libnccl.so.2');
      mkdirSync(path.dirname(library));
      const [cuda, nccl] = [process.env['COLL_CUDA_LIBRARY'], process.env['COLL_NCCL_LIBRARY']] as [string, string];
      copyFileSync(nccl, library);
      copyFileSync(cuda, path.join(path.dirname(library), path.basename(cuda)));
      ({ ended, results } = check(path.join(folder, 'reports'), ['--doubles'], {
        PYTHONPATH: path.join(import.meta.dirname, 'torch-double'),
        PYTHONDONTWRITEBYTECODE: '1',
        COLL_TORCH_DOUBLE_NCCL: library,
      }));
    });

    it('passes every check', () => {
      const others = results.filter(({ step }) => !benchmarks.includes(step));
      expect(others.map(({ step, outcome, reason }) => [step, outcome, reason])).toEqual(
        others.map(({ step }) => [step, 'passed', undefined]),
      );
      expect(ended.status).toBe(0);
      expect(others.length).toBeGreaterThan(10);
    });

    it('runs the measurements, but records no figures of test doubles', () => {
      const measured = results.filter(({ step }) => benchmarks.includes(step));
      expect(measured.map(({ step, outcome }) => [step, outcome])).toEqual(benchmarks.map((step) => [step, 'dry']));
      for (const { facts, expectations } of measured) expect([facts, expectations]).toEqual([undefined, undefined]);
    });

    it('reports the NCCL library of PyTorch, the GPU memory still in use, and the result of training', () => {
      const of = (wanted: string) => results.find(({ step }) => step === wanted);
      expect(of('torch-nccl')?.facts).toMatchObject({ library: path.join(folder, 'torch/libnccl.so.2') });
      expect(of('leaks-groups')?.expectations).toContainEqual(
        expect.objectContaining({ what: 'opened and closed', figure: 1000, isMet: true }),
      );
      expect(of('multi-worker')?.expectations).toHaveLength(4);
      expect(ended.stdout).toMatch(/met {4}memory of the GPU less than before: 0 MiB, due: at most 0/);
    });
  });

  it('contains programs that run with the oldest glibc that Node supports', async () => {
    const file = path.resolve(import.meta.dirname, '../../../native/engine/tools/system-symbols.mjs');
    const { checkSystemSymbols } = await import(file);
    for (const program of ['calls', 'mappings']) checkSystemSymbols(path.join(bundle, program));
  });

  it('reports failures and continues if NCCL calls fail, and measures nothing by default', () => {
    const control = path.join(folder, 'control');
    writeFileSync(control, 'fail ncclCommInitRankConfig 3\n');
    const { ended, results } = check(path.join(folder, 'failing'), [], { COLL_DOUBLE_CONTROL: control });
    expect(ended.status).toBe(1);
    const outcomes = new Map(results.map(({ step, outcome, reason }) => [step, `${outcome}: ${reason}`]));
    expect(outcomes.get('one-rank')).toMatch(/^failed: .*requested by the control file/);
    expect(outcomes.get('leaks-groups')).toMatch(/^failed: .*requested by the control file/);
    expect(outcomes.get('overhead')).toBe('not run: figures of a test double mean nothing');
    expect(outcomes.get('kernels')).toBe('passed: undefined');
  });
});
