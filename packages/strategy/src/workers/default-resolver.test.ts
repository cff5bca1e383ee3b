import { setLogSink } from '@coll/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { TFConfigClusterResolver } from '../cluster/tf-config-cluster-resolver.js';
import { defaultResolver } from './default-resolver.js';

const lines: string[] = [];
beforeEach(() => setLogSink((level, line) => lines.push(`${level} ${line}`)));
afterEach(() => {
  lines.length = 0;
  setLogSink();
});

const batch = { SLURM_PROCID: '0', SLURM_NTASKS: '4' };
const TF_CONFIG = JSON.stringify({ cluster: { worker: ['a:1', 'b:1'] }, task: { type: 'worker', index: 1 } });

it('defaultResolver uses TF_CONFIG and logs this', () => {
  const resolver = defaultResolver({ TF_CONFIG, RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: 'h' });
  expect(resolver).toBeInstanceOf(TFConfigClusterResolver);
  expect([resolver.taskType, resolver.taskId]).toEqual(['worker', 1]);
  expect(lines).toEqual(['info MultiWorkerMirroredStrategy: the workers are read from TF_CONFIG']);
});

it('defaultResolver uses the variables of a launcher, and prefers those of coll run over TF_CONFIG', () => {
  for (const variables of [
    { TF_CONFIG, COLL_RANK: '1', COLL_SIZE: '2' },
    { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: 'h' },
  ]) {
    const resolver = defaultResolver(variables);
    expect(resolver).toBeInstanceOf(EnvironmentClusterResolver);
    expect(resolver.taskId).toBe(1);
  }
  expect(lines).toEqual([]);
});

it('defaultResolver refuses an invalid TF_CONFIG, and names it', () => {
  expect(() => defaultResolver({ TF_CONFIG: '{' })).toThrow('this process seems to be started by TF_CONFIG, but');
});

it('defaultResolver has no cluster if neither TF_CONFIG nor launcher variables are set', () => {
  const variables: Record<string, string> = {};
  const resolver = defaultResolver(variables);
  expect(resolver).toBeInstanceOf(TFConfigClusterResolver);
  expect(resolver.clusterSpec().isEmpty).toBe(true);
  variables['TF_CONFIG'] = TF_CONFIG;
  expect(resolver.taskId).toBe(1);
  expect(lines).toEqual([]);
});

it.each([
  [batch, 4],
  [{ SLURM_PROCID: '0', SLURM_JOB_NUM_NODES: '2' }, 2],
  [{ ...batch, SLURM_NTASKS: '3', SLURM_JOB_NUM_NODES: '2' }, 3],
])('defaultResolver warns in a Slurm batch script: %j', (variables, tasks) => {
  expect(defaultResolver(variables).clusterSpec().isEmpty).toBe(true);
  expect(lines).toEqual([
    `warn MultiWorkerMirroredStrategy: this is the batch script of a Slurm job of ${tasks} tasks, which is one worker by itself: start the program with srun`,
  ]);
});

it.each([
  { ...batch, SLURM_NTASKS: '1' },
  { SLURM_PROCID: '0' },
  { SLURM_NTASKS: '4' },
  { ...batch, SLURM_STEP_ID: '0' },
])('defaultResolver does not warn outside a Slurm batch script of several tasks: %j', (variables) => {
  defaultResolver(variables);
  expect(lines).toEqual([]);
});
