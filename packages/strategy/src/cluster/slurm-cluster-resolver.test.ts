import { RuntimeError, ValueError } from '@coll/core';
import type { Environment } from '@coll/rendezvous/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlurmClusterResolver, type SlurmOptions } from './slurm-cluster-resolver.js';

/**
 * The result of a call; undefined if it throws a ValueError, or a RuntimeError that names what is
 * missing.
 */
function orRefused<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof RuntimeError)) expect(error).toBeInstanceOf(ValueError);
    return undefined;
  }
}

describe('SlurmClusterResolver', () => {
  const step = (more: Environment = {}): Record<string, string | undefined> => ({
    SLURM_PROCID: '3',
    SLURM_STEP_NUM_TASKS: '5',
    SLURM_STEP_NODELIST: 't2-n[13-14],t1-n1',
    SLURM_STEP_TASKS_PER_NODE: '2(x2),1',
    ...more,
  });

  it('numbers tasks in the order of host names', () => {
    const resolver = new SlurmClusterResolver({ variables: step() });
    const worker = ['t1-n1:8888', 't2-n13:8888', 't2-n13:8889', 't2-n14:8888', 't2-n14:8889'];
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker });
    expect([resolver.taskType, resolver.taskId, resolver.master()]).toEqual(['worker', 3, 'grpc://t2-n14:8888']);
    expect(resolver.master({ taskId: 0, rpcLayer: '' })).toBe('t1-n1:8888');
    expect([resolver.rpcLayer, resolver.environment, resolver.numAccelerators()]).toEqual(['grpc', '', { GPU: 0 }]);
  });

  it('assigns tasks to jobs in the alphabetical order of the job names', () => {
    const resolver = new SlurmClusterResolver({
      variables: step(),
      jobs: { worker: 3, ps: 2 },
      portBase: 100,
      rpcLayer: '',
    });
    expect(resolver.clusterSpec().asDescription()).toEqual({
      ps: ['t1-n1:100', 't2-n13:100'],
      worker: ['t2-n13:101', 't2-n14:100', 't2-n14:101'],
    });
    expect([resolver.taskType, resolver.taskId]).toEqual(['worker', 1]);
    const first = new SlurmClusterResolver({
      variables: step({ SLURM_PROCID: '1' }),
      jobs: { worker: 3, ps: 2, a: 0 },
    });
    expect([first.taskType, first.taskId, first.clusterSpec().jobs]).toEqual(['ps', 1, ['a', 'ps', 'worker']]);
    const next = new SlurmClusterResolver({ variables: step({ SLURM_PROCID: '2' }), jobs: { worker: 3, ps: 2 } });
    expect([next.taskType, next.taskId]).toEqual(['worker', 0]);
  });

  it('uses the last ports below 65536, and all GPUs of a node', () => {
    const resolver = new SlurmClusterResolver({ variables: step(), portBase: 65_534, gpusPerNode: 4, gpusPerTask: 2 });
    expect(resolver.master()).toBe('grpc://t2-n14:65534');
    expect(resolver.master({ taskId: 4 })).toBe('grpc://t2-n14:65535');
    expect(resolver.numAccelerators()).toEqual({ GPU: 2 });
    expect(new SlurmClusterResolver({ variables: step(), portBase: 1 }).master({ taskId: 0 })).toBe('grpc://t1-n1:1');
  });

  it('assigns GPUs to each task, and sets CUDA_VISIBLE_DEVICES', () => {
    const variables = step({ SLURM_PROCID: '4' });
    const resolver = new SlurmClusterResolver({ variables, gpusPerNode: 5 });
    expect(resolver.numAccelerators()).toEqual({ GPU: 2 });
    resolver.clusterSpec();
    expect(variables['CUDA_VISIBLE_DEVICES']).toBe('2,3');
    const silent = step({ SLURM_GPUS_ON_NODE: '4' });
    expect(new SlurmClusterResolver({ variables: silent, autoSetGpu: false }).clusterSpec().isEmpty).toBe(false);
    expect(silent['CUDA_VISIBLE_DEVICES']).toBeUndefined();
  });

  it('does not set CUDA_VISIBLE_DEVICES if tasks have no GPUs', () => {
    const variables = step();
    new SlurmClusterResolver({ variables }).clusterSpec();
    expect(variables).toStrictEqual(step());
  });

  it('accepts the number of tasks per host in the option tasksPerNode', () => {
    const everywhere = new SlurmClusterResolver({ variables: step({ SLURM_STEP_NUM_TASKS: '6' }), tasksPerNode: 2 });
    expect(everywhere.clusterSpec().numTasks('worker')).toBe(6);
    const named = new SlurmClusterResolver({ variables: step(), tasksPerNode: { y: 4, x: 1 } });
    expect(named.clusterSpec().taskAddress('worker', 1)).toBe('y:8888');
  });

  it('refuses inconsistent options and variables', () => {
    expect(() => new SlurmClusterResolver({ variables: {} })).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER' }),
    );
    expect(() => new SlurmClusterResolver({ variables: step(), jobs: { worker: 4 } })).toThrow(
      'the jobs worker have 4 tasks, but Slurm started 5',
    );
    expect(() => new SlurmClusterResolver({ variables: step(), gpusPerNode: 2, gpusPerTask: 2 })).toThrow('do not fit');
    expect(() => new SlurmClusterResolver({ variables: step({ SLURM_PROCID: '5' }) })).toThrow('SLURM_PROCID is 5');
    for (const [message, options, more] of [
      [
        'the environment variable SLURM_STEP_NODELIST is not set; start the program with srun',
        {},
        { SLURM_STEP_NODELIST: '' },
      ],
      ['the jobs ps, worker have 6 tasks, but Slurm started 5: list all', { jobs: { ps: 1, worker: 5 } }, {}],
      ['2 tasks with 2 GPUs each do not fit on a node with 3 GPUs: lower', { gpusPerNode: 3, gpusPerTask: 2 }, {}],
      ['SLURM_PROCID is 5, but the step has 5 tasks', {}, { SLURM_PROCID: '5' }],
    ] as const)
      expect(() => new SlurmClusterResolver({ ...options, variables: step(more) })).toThrow(
        expect.objectContaining({
          ...{ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER' },
          message: expect.stringContaining(message),
        }),
      );
    expect(() => new SlurmClusterResolver({ variables: step({ SLURM_STEP_TASKS_PER_NODE: '2' }) })).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
    for (const SLURM_PROCID of ['x', ' ', '1e0', '-1', '0x1'])
      expect(() => new SlurmClusterResolver({ variables: step({ SLURM_PROCID }) })).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
      );
  });

  it.each<[string, SlurmOptions, Environment?]>([
    ['SLURM_GPUS_ON_NODE must be a whole number, 0 or more, got "gpu:2"', {}, { SLURM_GPUS_ON_NODE: 'gpu:2' }],
    ['gpusPerNode must be a whole number, 0 or more, got -1', { gpusPerNode: -1 }],
    ['gpusPerTask must be a whole number, 0 or more, got 0.5', { gpusPerTask: 0.5, gpusPerNode: 4 }],
    ['tasksPerNode must be a whole number, 1 or more, got 1.5', { tasksPerNode: 1.5 }],
    ['tasksPerNode must be a whole number, 1 or more, got null', { tasksPerNode: null as never }],
    ['tasksPerNode: b must be a whole number, 1 or more, got 0', { tasksPerNode: { a: 5, b: 0 } }],
    ['jobs: worker must be a whole number, 0 or more, got -1', { jobs: { worker: -1, ps: 6 } }],
    [
      'portBase must be at least 1 and leave a port below 65536 for each of the 2 tasks of a node, got 65535',
      { portBase: 65_535 },
    ],
    [
      'portBase must be at least 1 and leave a port below 65536 for each of the 2 tasks of a node, got "8888"',
      { portBase: '8888' as never },
    ],
    [
      'portBase must be at least 1 and leave a port below 65536 for each of the 2 tasks of a node, got 0',
      { portBase: 0 },
    ],
    [
      'portBase must be at least 1 and leave a port below 65536 for each of the 2 tasks of a node, got 1.5',
      { portBase: 1.5 },
    ],
    ['tasksPerNode must be a whole number, 1 or more, got 0', { tasksPerNode: 0 }],
    [
      'SLURM_STEP_NODELIST has 3 hosts, but SLURM_STEP_TASKS_PER_NODE has 1 counts',
      {},
      { SLURM_STEP_TASKS_PER_NODE: '2' },
    ],
  ])('reports the invalid value: %s', (message, options, more) => {
    const create = () => new SlurmClusterResolver({ ...options, variables: step(more) });
    expect(create).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }));
    expect(create).toThrow(message);
  });

  it('returns as many tasks as Slurm started, or throws, for any variables', () => {
    const number = fc.constantFrom('', '0', '1', '2', '3', ' ', '1e0', '0x1', '-1');
    const variables = fc.record({
      SLURM_PROCID: number,
      SLURM_STEP_NUM_TASKS: number,
      SLURM_GPUS_ON_NODE: number,
      SLURM_STEP_NODELIST: fc.constantFrom('', 'a', 'b,a', 'n[1-3]', 'n['),
      SLURM_STEP_TASKS_PER_NODE: fc.constantFrom('', '1', '3', '1(x2)', '1(x3)', '2(x', '0'),
    });
    fc.assert(
      fc.property(variables, (given) => {
        const resolver = orRefused(() => new SlurmClusterResolver({ variables: given }));
        if (!resolver) return;
        expect(resolver.clusterSpec().numTasks('worker')).toBe(Number(given.SLURM_STEP_NUM_TASKS));
        expect(resolver.taskId).toBe(Number(given.SLURM_PROCID));
      }),
    );
  });
});
