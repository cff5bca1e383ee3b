import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { StepResult } from '../src/step.js';

interface Ended {
  readonly printed: string;
  readonly status: number | null;
  readonly results: readonly StepResult[];
}

function run(fixture: string): Ended {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
  const program = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url));
  const env = { ...process.env, COLL_CUDA_LIBRARY: '/nowhere/libcuda.so.1' };
  const { stdout: printed, status } = spawnSync(process.execPath, [program, folder], { env, encoding: 'utf8' });
  const [file = ''] = readdirSync(folder);
  const { results } = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  rmSync(folder, { recursive: true });
  return { printed, status, results };
}

const tellOutcomes = ({ results }: Ended) => results.map(({ step, outcome, reason }) => [step, outcome, reason]);

it('the running step ends, and no other step starts, at the time limit for all steps', () => {
  expect(tellOutcomes(run('steps-that-take-long.js'))).toEqual([
    ['first', 'passed', undefined],
    ['long', 'failed', expect.stringMatching(/^not done after \d+ seconds$/)],
    ['late', 'not run', 'the time for all checks is over'],
  ]);
});

it('--help prints the usage instead of writing a report to a folder of this name', () => {
  const program = fileURLToPath(new URL('./fixtures/steps-that-fail.ts', import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--help'], { encoding: 'utf8' });
  expect([status, stdout, stderr]).toEqual([2, '', 'usage: gpu-check.mjs [--doubles] [folder for the report]\n']);
});

it('an interrupt ends the running check', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-gpu-check-'));
  const program = fileURLToPath(new URL('./fixtures/steps-that-take-long.ts', import.meta.url));
  const env = { ...process.env, COLL_CUDA_LIBRARY: '/nowhere/libcuda.so.1' };
  const checks = spawn(process.execPath, [program, folder], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const pid = await new Promise<number>((resolve) => {
    let printed = '';
    checks.stdout.on('data', (data) => {
      printed += data;
      const [, found] = /pid (\d+)\n/.exec(printed) ?? [];
      if (found) resolve(Number(found));
    });
  });
  const status = new Promise((resolve) => checks.once('exit', resolve));
  checks.kill('SIGTERM');
  expect(await status).toBe(143);
  await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  rmSync(folder, { recursive: true });
});

describe('a run in which some steps fail', () => {
  let ended: Ended = { printed: '', status: null, results: [] };

  beforeAll(() => {
    ended = run('steps-that-fail.js');
  });

  it('continues to the last step', () => {
    expect(tellOutcomes(ended)).toEqual([
      ['first', 'passed', undefined],
      ['throws', 'failed', 'TypeError: a reason'],
      ['hangs', 'failed', 'not done after 3 seconds'],
      ['exits', 'failed', 'its process ended with exit code 3 before it reported'],
      ['dies', 'failed', 'its process was ended by SIGKILL before it reported'],
      ['misses', 'failed', '1 of 2 expectations is not met'],
      ['not here', 'not run', 'no such thing'],
      ['last', 'passed', undefined],
    ]);
    expect(ended.status).toBe(1);
  });

  it('passes each step its time limit', () => {
    expect(ended.results[0]?.facts).toEqual({ seconds: 200 });
  });

  it('records and prints figure, limit and verdict', () => {
    expect(ended.results[5]?.expectations).toEqual([
      { what: 'one', figure: 2, bound: 'at most', limit: 1, unit: 's', isMet: false },
      { what: 'other', figure: 2, bound: 'at least', limit: 1, unit: 's', isMet: true },
    ]);
    expect(ended.printed).toMatch(/MISSED one: 2 s, due: at most 1\n {2}met {4}other: 2 s, due: at least 1\n/);
  });
});
