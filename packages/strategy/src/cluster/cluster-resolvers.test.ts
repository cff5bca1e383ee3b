import { KeyError, RuntimeError, ValueError } from '@coll/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ClusterSpec } from './cluster-spec.js';
import type { Environment } from './environment.js';
import { EnvironmentClusterResolver } from './environment-cluster-resolver.js';
import { KubernetesClusterResolver } from './kubernetes-cluster-resolver.js';
import { SimpleClusterResolver } from './simple-cluster-resolver.js';
import { SlurmClusterResolver, type SlurmOptions } from './slurm-cluster-resolver.js';
import { TFConfigClusterResolver } from './tf-config-cluster-resolver.js';
import { UnionResolver } from './union-cluster-resolver.js';

const two = new ClusterSpec({ worker: ['a:1', 'b:1'] });

/** What a call returns; undefined where it throws a ValueError, or a RuntimeError that says what is missing. */
function orRefused<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof RuntimeError)) expect(error).toBeInstanceOf(ValueError);
    return undefined;
  }
}

describe('TFConfigClusterResolver', () => {
  const of = (config: object, options = {}) =>
    new TFConfigClusterResolver({ variables: { TF_CONFIG: JSON.stringify(config) }, ...options });
  const cluster = { worker: ['a:1', 'b:1'] };

  it('has no cluster without the variable', () => {
    const resolver = new TFConfigClusterResolver({ variables: {} });
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer, resolver.environment]).toEqual([
      undefined,
      undefined,
      undefined,
      '',
    ]);
    expect([resolver.clusterSpec().isEmpty, resolver.master()]).toEqual([true, '']);
  });

  it('reads the variable anew each time', () => {
    const variables: Record<string, string> = {};
    const resolver = new TFConfigClusterResolver({ variables });
    expect(resolver.taskId).toBeUndefined();
    variables['TF_CONFIG'] = JSON.stringify({ cluster, task: { type: 'worker', index: '1' }, rpc_layer: 'grpc' });
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer]).toEqual(['worker', 1, 'grpc']);
    expect(resolver.master()).toBe('grpc://b:1');
    expect(resolver.clusterSpec().asDescription()).toEqual(cluster);
  });

  it('lets the constructor win', () => {
    const resolver = of(
      { cluster, task: { type: 'worker', index: 1 } },
      { taskType: 'chief', taskId: 0, rpcLayer: 'tcp' },
    );
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer]).toEqual(['chief', 0, 'tcp']);
    expect(resolver.master({ taskType: 'worker', taskId: 0 })).toBe('tcp://a:1');
  });

  it('takes the master of sessions, and none for a single task', () => {
    expect(of({ cluster, session_master: 'there:1' }).master()).toBe('there:1');
    expect(of({ cluster: { worker: ['a:1'] } }).master()).toBe('');
    expect(() => of({ cluster }).master()).toThrow(ValueError);
    expect(() => of({ cluster, task: { type: 'worker', index: 2 } }).master()).toThrow('has no task 2');
  });

  it('counts the devices of its task', () => {
    const devices = ['GPU:0', 'GPU:1', 'CPU:0'].map((device) => `/job:worker/task:1/device:${device}`);
    const resolver = of(
      { cluster, task: { type: 'worker', index: 1 } },
      { devices: [...devices, '/job:worker/task:0/device:GPU:0'] },
    );
    expect(resolver.numAccelerators()).toEqual({ GPU: 2 });
    expect(resolver.numAccelerators({ taskId: 0 })).toEqual({ GPU: 1 });
    const single = of({}, { devices: ['CPU:0', 'GPU:0'].map((device) => `/job:localhost/task:0/device:${device}`) });
    expect(single.numAccelerators()).toEqual({ GPU: 1 });
    expect(single.numAccelerators({ taskId: 5 })).toEqual({ GPU: 1 });
    expect(single.numAccelerators({ taskType: 'worker' })).toEqual({ GPU: 1 });
  });

  it.each(['{', '[]', '1', '"x"'])('refuses %s', (text) => {
    expect(() => new TFConfigClusterResolver({ variables: { TF_CONFIG: text } }).clusterSpec()).toThrow(ValueError);
  });

  it.each(['one', '', '-1', '0x1', '1e0', -1, 1.5, 1e300, [], [1], true, {}])('refuses the task number %j', (index) => {
    const resolver = of({ task: { type: 'worker', index } });
    expect(() => resolver.taskId).toThrow('TF_CONFIG: task.index is a whole number from 0 on, not ');
    expect(() => resolver.taskId).toThrow(ValueError);
  });

  it('reads a task type that is a number as its text', () => {
    expect(of({ cluster: { 5: ['a:1'] }, task: { type: 5, index: 0 } }).taskType).toBe('5');
  });

  it.each([true, [], { toString: '' }])('refuses the task type %j', (type) => {
    expect(() => of({ task: { type, index: 0 } }).taskType).toThrow(/TF_CONFIG: task.type is a text/);
  });

  it('refuses other values that are no texts, and takes null for none', () => {
    expect(() => of({ rpc_layer: 5 }).rpcLayer).toThrow(/TF_CONFIG: rpc_layer is a text, not 5/);
    expect(() => of({ session_master: {} }).master()).toThrow(ValueError);
    expect(() => of({ environment: false }).environment).toThrow(ValueError);
    const none = of({ session_master: null, rpc_layer: null, environment: null });
    expect([none.master(), none.rpcLayer, none.environment]).toEqual(['', undefined, '']);
  });

  it('answers, or refuses by a ValueError, whatever the variable says', () => {
    const odd = fc.oneof(fc.constantFrom('worker', 'chief', 0, 1, '1', ' ', -1, null), fc.jsonValue({ maxDepth: 1 }));
    const tasks = fc.oneof(odd, fc.array(fc.constantFrom<unknown>('a:1', 'b:1', 5), { maxLength: 3 }));
    const described = fc.oneof(odd, fc.record({ worker: tasks, chief: tasks }, { requiredKeys: [] }));
    const task = fc.oneof(odd, fc.record({ type: odd, index: odd }, { requiredKeys: [] }));
    const config = fc.record({ cluster: described, task, rpc_layer: odd, session_master: odd }, { requiredKeys: [] });
    fc.assert(
      fc.property(config, (given) => {
        const resolver = of(given);
        const index = orRefused(() => resolver.taskId);
        expect(index === undefined || index >= 0).toBe(true);
        orRefused(() => resolver.master());
        orRefused(() => resolver.clusterSpec());
      }),
    );
  });
});

describe('SimpleClusterResolver', () => {
  it('says what it was told', () => {
    const resolver = new SimpleClusterResolver(two, {
      master: 'm:1',
      taskType: 'worker',
      taskId: 1,
      rpcLayer: 'grpc',
      numAccelerators: { GPU: 2 },
    });
    expect(resolver.clusterSpec()).toBe(two);
    expect([resolver.master(), resolver.master({ taskType: 'worker', taskId: 0, rpcLayer: '' })]).toEqual([
      'grpc://m:1',
      'a:1',
    ]);
    expect([resolver.numAccelerators(), new SimpleClusterResolver(two).numAccelerators()]).toEqual([{ GPU: 2 }, {}]);
    expect(new SimpleClusterResolver(two).master()).toBe('');
  });

  it('refuses what is no cluster, and no master', () => {
    expect(() => new SimpleClusterResolver({ worker: ['a:1'] } as never)).toThrow(TypeError);
    expect(() => new SimpleClusterResolver(two, { master: 1 as never })).toThrow(TypeError);
  });
});

describe('UnionResolver', () => {
  const simple = (description: object, options = {}) =>
    new SimpleClusterResolver(new ClusterSpec(description as never), options);

  it('joins lists in the order of the resolvers', () => {
    const union = new UnionResolver([
      simple({ worker: ['a:1'], chief: ['c:1'] }, { taskType: 'worker', taskId: 0, rpcLayer: 'grpc' }),
      simple({ worker: ['b:1'] }),
    ]);
    expect(union.clusterSpec().asDescription()).toEqual({ chief: ['c:1'], worker: ['a:1', 'b:1'] });
    expect(union.master({ taskType: 'worker', taskId: 1 })).toBe('grpc://b:1');
    expect([union.taskType, union.taskId, union.rpcLayer]).toEqual(['worker', 0, 'grpc']);
  });

  it('joins numbers, of which each may be there once', () => {
    const maps = [simple({ worker: { 1: 'a:1' } }), simple({ worker: { 3: 'b:1' } })];
    expect(new UnionResolver(maps).clusterSpec().asDescription()).toEqual({ worker: { 1: 'a:1', 3: 'b:1' } });
    expect(() => new UnionResolver([...maps, simple({ worker: { 3: 'c:1' } })]).clusterSpec()).toThrow(KeyError);
    expect(() => new UnionResolver([...maps, simple({ worker: ['x:1', 'y:1'] })]).clusterSpec()).toThrow('a:1 and y:1');
  });

  it('lets its own options win, 0 and empty ones too', () => {
    const first = simple({}, { taskType: 'worker', taskId: 3, rpcLayer: 'grpc' });
    const union = new UnionResolver([first], { taskId: 0, rpcLayer: '' });
    expect([union.taskType, union.taskId, union.rpcLayer]).toEqual(['worker', 0, '']);
  });

  it('refuses nothing, other things, and unknown options', () => {
    expect(() => new UnionResolver([])).toThrow(ValueError);
    expect(() => new UnionResolver([{} as never])).toThrow(TypeError);
    expect(() => new UnionResolver([simple({})], { taskIds: 1 } as never)).toThrow('not "taskIds"');
  });
});

describe('SlurmClusterResolver', () => {
  const step = (more: Environment = {}): Record<string, string | undefined> => ({
    SLURM_PROCID: '3',
    SLURM_STEP_NUM_TASKS: '5',
    SLURM_STEP_NODELIST: 't2-n[13-14],t1-n1',
    SLURM_STEP_TASKS_PER_NODE: '2(x2),1',
    ...more,
  });

  it('numbers tasks along the names of hosts', () => {
    const resolver = new SlurmClusterResolver({ variables: step() });
    const worker = ['t1-n1:8888', 't2-n13:8888', 't2-n13:8889', 't2-n14:8888', 't2-n14:8889'];
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker });
    expect([resolver.taskType, resolver.taskId, resolver.master()]).toEqual(['worker', 3, 'grpc://t2-n14:8888']);
  });

  it('shares tasks out to jobs by name', () => {
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
  });

  it('gives each task its GPUs, and tells CUDA', () => {
    const variables = step({ SLURM_PROCID: '4' });
    const resolver = new SlurmClusterResolver({ variables, gpusPerNode: 5 });
    expect(resolver.numAccelerators()).toEqual({ GPU: 2 });
    resolver.clusterSpec();
    expect(variables['CUDA_VISIBLE_DEVICES']).toBe('2,3');
    const silent = step({ SLURM_GPUS_ON_NODE: '4' });
    expect(new SlurmClusterResolver({ variables: silent, autoSetGpu: false }).clusterSpec().isEmpty).toBe(false);
    expect(silent['CUDA_VISIBLE_DEVICES']).toBeUndefined();
  });

  it('leaves CUDA_VISIBLE_DEVICES alone when tasks have no GPUs', () => {
    const variables = step();
    new SlurmClusterResolver({ variables }).clusterSpec();
    expect(variables).toEqual(step());
  });

  it('takes the number of tasks of a host from the caller', () => {
    const everywhere = new SlurmClusterResolver({ variables: step({ SLURM_STEP_NUM_TASKS: '6' }), tasksPerNode: 2 });
    expect(everywhere.clusterSpec().numTasks('worker')).toBe(6);
    const named = new SlurmClusterResolver({ variables: step(), tasksPerNode: { y: 4, x: 1 } });
    expect(named.clusterSpec().taskAddress('worker', 1)).toBe('y:8888');
  });

  it('refuses what does not fit', () => {
    expect(() => new SlurmClusterResolver({ variables: {} })).toThrow(RuntimeError);
    expect(() => new SlurmClusterResolver({ variables: step(), jobs: { worker: 4 } })).toThrow(
      'the jobs worker have 4 tasks, but Slurm started 5',
    );
    expect(() => new SlurmClusterResolver({ variables: step(), gpusPerNode: 2, gpusPerTask: 2 })).toThrow('do not fit');
    expect(() => new SlurmClusterResolver({ variables: step({ SLURM_PROCID: '5' }) })).toThrow('SLURM_PROCID is 5');
    expect(() => new SlurmClusterResolver({ variables: step({ SLURM_STEP_TASKS_PER_NODE: '2' }) })).toThrow(ValueError);
    for (const SLURM_PROCID of ['x', ' ', '1e0', '-1', '0x1'])
      expect(() => new SlurmClusterResolver({ variables: step({ SLURM_PROCID }) })).toThrow(ValueError);
  });

  it.each<[string, SlurmOptions, Environment?]>([
    ['SLURM_GPUS_ON_NODE is a whole number from 0 on, not "gpu:2"', {}, { SLURM_GPUS_ON_NODE: 'gpu:2' }],
    ['gpusPerNode is a whole number from 0 on, not -1', { gpusPerNode: -1 }],
    ['gpusPerTask is a whole number from 0 on, not 0.5', { gpusPerTask: 0.5, gpusPerNode: 4 }],
    ['tasksPerNode is a whole number from 1 on, not 1.5', { tasksPerNode: 1.5 }],
    ['tasksPerNode is a whole number from 1 on, not null', { tasksPerNode: null as never }],
    ['tasksPerNode: b is a whole number from 1 on, not 0', { tasksPerNode: { a: 5, b: 0 } }],
    ['jobs: worker is a whole number from 0 on, not -1', { jobs: { worker: -1, ps: 6 } }],
    ['portBase is a port that leaves room for 2 tasks, not 65535', { portBase: 65_535 }],
    ['portBase is a port that leaves room for 2 tasks, not "8888"', { portBase: '8888' as never }],
  ])('says what makes no sense: %s', (told, options, more) => {
    const create = () => new SlurmClusterResolver({ ...options, variables: step(more) });
    expect(create).toThrow(ValueError);
    expect(create).toThrow(told);
  });

  it('has as many tasks as there are, or refuses, whatever the variables say', () => {
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

it.each<[string, () => unknown]>([
  ['TFConfigClusterResolver', () => new TFConfigClusterResolver(null as never)],
  ['SimpleClusterResolver', () => new SimpleClusterResolver(new ClusterSpec({ worker: ['a:1'] }), 1 as never)],
  ['UnionResolver', () => new UnionResolver([new TFConfigClusterResolver()], null as never)],
  ['SlurmClusterResolver', () => new SlurmClusterResolver(null as never)],
  ['EnvironmentClusterResolver', () => new EnvironmentClusterResolver('statefulSetService' as never)],
  ['KubernetesClusterResolver', () => KubernetesClusterResolver.create([] as never)],
])('%s takes options as an object', async (_, make) => {
  await expect((async () => make())()).rejects.toThrow('options are an object');
});
