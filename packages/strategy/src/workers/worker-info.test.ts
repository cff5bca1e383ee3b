import { setLogSink } from '@coll/core';
import { type ClusterDescription, ClusterSpec } from '@coll/rendezvous/internal';
import { describe, expect, it, vi } from 'vitest';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import { defaultResolver } from './default-resolver.js';
import { ownHost, storeAddress } from './store-address.js';
import { workerDevices } from './worker-devices.js';
import { workerInfoOf } from './worker-info.js';

const cluster: ClusterDescription = { chief: ['a:1'], worker: ['b:1', 'c:1'], evaluator: ['d:1'] };
const resolverOf = (taskType?: string, taskId?: number, description = cluster) =>
  new SimpleClusterResolver(new ClusterSpec(description), { taskType, taskId });
const tfConfig = JSON.stringify({ cluster: { worker: ['a:1', 'b:1'] }, task: { type: 'worker', index: 1 } });

describe('the index of a worker', () => {
  it.each([
    ['chief', 0, { workers: 3, idInCluster: 0, isChief: true }],
    ['worker', 0, { workers: 3, idInCluster: 1, isChief: false }],
    ['worker', 1, { workers: 3, idInCluster: 2, isChief: false }],
    ['evaluator', 0, { workers: 1, idInCluster: 0, isChief: true }],
  ])('of the task %s %i is %o', (taskType, taskId, info) => {
    expect(workerInfoOf(resolverOf(taskType, taskId))).toEqual({ ...info, task: { taskType, taskId } });
  });

  it('is zero for a worker without a cluster', () => {
    const info = { workers: 1, idInCluster: 0, isChief: true, task: undefined };
    expect(workerInfoOf(resolverOf(undefined, undefined, {}))).toEqual(info);
  });

  it.each([
    [resolverOf(), /not which of its tasks this process is/],
    [resolverOf('worker'), /not which of its tasks this process is/],
    [resolverOf(undefined, 0), /not which of its tasks this process is/],
    [resolverOf('ps', 0, { ps: ['a:1'] }), /a ps task is not a worker/],
    [resolverOf('worker', 2), /job worker has no task 2/],
    [resolverOf('worker', '1' as never), /taskId must be a whole number, 0 or more, got "1"/],
    [resolverOf('worker', 0, { worker: ['a:1'], chief: ['b:1', 'c:1'] }), /at most one chief/],
  ])('cannot be found for an invalid task or cluster: case %#', (resolver, message) => {
    expect(() => workerInfoOf(resolver)).toThrow(message);
    expect(() => workerInfoOf(resolver)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});

describe('the default resolver', () => {
  it.each([
    [{}, '', 0],
    [{ TF_CONFIG: tfConfig }, '', 2],
    [{ TF_CONFIG: tfConfig, COLL_RANK: '0', COLL_SIZE: '4' }, 'coll run', 4],
    [{ TF_CONFIG: tfConfig, SLURM_PROCID: '0', SLURM_STEP_ID: '0', SLURM_NTASKS: '3' }, '', 2],
    [{ SLURM_PROCID: '0', SLURM_STEP_ID: '0', SLURM_NTASKS: '3' }, 'Slurm', 3],
    [{ COLL_RANK: '', TF_CONFIG: '' }, '', 0],
  ])('reads the cluster from the variables %j', (variables, environment, workers) => {
    const resolver = defaultResolver(variables);
    expect(resolver.environment).toBe(environment);
    const spec = resolver.clusterSpec();
    expect(spec.isEmpty ? 0 : spec.numTasks('worker')).toBe(workers);
  });
});

it.each<[warns: boolean, variables: Readonly<Record<string, string>>]>([
  [true, { SLURM_PROCID: '0', SLURM_NTASKS: '4' }],
  [true, { SLURM_PROCID: '0', SLURM_JOB_NUM_NODES: '4' }],
  [false, { SLURM_PROCID: '0', SLURM_NTASKS: '1' }],
  [false, { SLURM_PROCID: '0', SLURM_NTASKS: '4', SLURM_STEP_ID: '0' }],
  [false, { SLURM_PROCID: '0', SLURM_NTASKS: '4', TF_CONFIG: tfConfig }],
])('the default resolver warns only in a Slurm batch script of several tasks: %s for %j', (warns, variables) => {
  const sink = vi.fn();
  setLogSink((level, message) => sink(level, message));
  defaultResolver(variables);
  setLogSink();
  const warnings = sink.mock.calls.filter(([level]) => level === 'warn');
  expect(warnings).toHaveLength(Number(warns));
  if (warns)
    expect(sink).toHaveBeenCalledWith('warn', expect.stringMatching(/of 4 tasks.*: start the program with srun/));
});

it('the error for a task that is missing in the cluster of TF_CONFIG names TF_CONFIG', () => {
  const TF_CONFIG = tfConfig.replace('"index":1', '"index":2');
  expect(() => defaultResolver({ TF_CONFIG })).toThrow(/started by TF_CONFIG, but .*job worker has no task 2/);
});

it('the default resolver logs that TF_CONFIG takes precedence over the variables of a launcher', () => {
  const sink = vi.fn();
  setLogSink((level, message) => sink(level, message));
  defaultResolver({ TF_CONFIG: '{}', SLURM_PROCID: '0', SLURM_STEP_ID: '0', SLURM_NTASKS: '4' });
  setLogSink();
  expect(sink.mock.calls).toEqual([['info', expect.stringContaining('the workers are read from TF_CONFIG')]]);
});

describe('the devices of a worker', () => {
  const info = workerInfoOf(resolverOf('worker', 1));
  const name = '/job:worker/replica:0/task:1/device:';

  it.each([
    [undefined, {}, ['CPU:0']],
    [undefined, { GPU: 2 }, ['GPU:0', 'GPU:1']],
    [['cpu:0', 'cpu:1'], { GPU: 2 }, ['CPU:0', 'CPU:1']],
    [['/job:worker/task:1/gpu:3'], {}, ['GPU:3']],
  ])('are, for the devices %j and the accelerators %j, %j', (devices, numAccelerators, expected) => {
    const resolver = new SimpleClusterResolver(new ClusterSpec(cluster), { numAccelerators });
    expect(workerDevices(devices, info, resolver)).toEqual(expected.map((device) => `${name}${device}`));
  });

  it.each([
    ['cpu:0', /devices must be a list/],
    [[], /must not be empty/],
    [['cpu:0', 'CPU:0'], /listed twice/],
    [['/job:worker/task:0/cpu:0'], /belongs to another worker/],
  ])('cannot be %j', (devices, message) => {
    expect(() => workerDevices(devices, info, resolverOf('worker', 1))).toThrow(message);
  });

  it.each([-2, 0.5, '2', Number.NaN])('cannot be counted if the resolver returns %j as the number of GPUs', (GPU) => {
    const resolver = new SimpleClusterResolver(new ClusterSpec(cluster), { numAccelerators: { GPU } as never });
    expect(() => workerDevices(undefined, info, resolver)).toThrow(
      /numAccelerators of the resolver must return the number of GPUs/,
    );
  });
});

describe('the host of a worker', () => {
  it.each([
    [['a:1', 'b:1'], 'b'],
    [['[::1]:1', '[fe80::2]:2'], 'fe80::2'],
    [['a:1', ''], undefined],
    [['a:1', 'tcp://127.0.0.1:1'], '127.0.0.1'],
  ])('in the cluster %j is %s', (worker, host) => {
    const resolver = resolverOf('worker', 1, { worker });
    expect(ownHost(resolver, workerInfoOf(resolver))).toBe(host);
  });
});

describe('the address where workers join', () => {
  const key = 'tests-only-4kQz9XvB7mLwR2';
  const meet = (environment: Record<string, string>, options = {}, resolver = resolverOf('worker', 0)) =>
    storeAddress(resolver, workerInfoOf(resolver), options, environment);

  it('is the address of the first worker, which runs the store', async () => {
    const expected = { address: 'tcp://a:1', isOfWorker: true, job: 'multi-worker', jobKey: key, generation: 0 };
    expect(await meet({ COLL_JOB_KEY: key })).toEqual({ ...expected, isHere: false });
    expect(await meet({}, { jobKey: key }, resolverOf('chief', 0))).toEqual({ ...expected, isHere: true });
  });

  it("is the address of a launcher's store if COLL_STORE is set; options take precedence over variables", async () => {
    const environment = { COLL_STORE: 'tcp://h:1', COLL_JOB: 'one', COLL_JOB_KEY: key, COLL_GENERATION: '2' };
    const expected = { address: 'tcp://h:1', isOfWorker: false, isHere: false, job: 'one', jobKey: key, generation: 2 };
    expect(await meet(environment, {}, resolverOf('chief', 0))).toEqual(expected);
    expect(await meet(environment, { job: 'two', generation: 5 })).toEqual({ ...expected, job: 'two', generation: 5 });
  });

  it('requires a secret and an address with a port', async () => {
    await expect(meet({})).rejects.toThrow(/COLL_JOB_KEY/);
    for (const address of ['', 'h']) {
      const resolver = resolverOf('worker', 0, { worker: [address, 'b:1'] });
      await expect(meet({ COLL_JOB_KEY: key }, {}, resolver)).rejects.toThrow(/set COLL_STORE/);
    }
    await expect(meet({ COLL_JOB_KEY: key, COLL_GENERATION: 'x' })).rejects.toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});
