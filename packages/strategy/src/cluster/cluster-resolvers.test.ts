import { KeyError, RuntimeError, ValueError } from '@coll/core';
import { ClusterSpec } from '@coll/rendezvous/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EnvironmentClusterResolver } from './environment-cluster-resolver.js';
import { KubernetesClusterResolver } from './kubernetes-cluster-resolver.js';
import { SimpleClusterResolver } from './simple-cluster-resolver.js';
import { SlurmClusterResolver } from './slurm-cluster-resolver.js';
import { TFConfigClusterResolver } from './tf-config-cluster-resolver.js';
import { UnionResolver } from './union-cluster-resolver.js';

const two = new ClusterSpec({ worker: ['a:1', 'b:1'] });

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

describe('TFConfigClusterResolver', () => {
  const of = (config: object, options = {}) =>
    new TFConfigClusterResolver({ variables: { TF_CONFIG: JSON.stringify(config) }, ...options });
  const cluster = { worker: ['a:1', 'b:1'] };

  it('has no cluster if TF_CONFIG is not set', () => {
    const resolver = new TFConfigClusterResolver({ variables: {} });
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer, resolver.environment]).toEqual([
      undefined,
      undefined,
      undefined,
      '',
    ]);
    expect([resolver.clusterSpec().isEmpty, resolver.master()]).toEqual([true, '']);
    expect(resolver.numAccelerators()).toEqual({});
  });

  it('drops the scheme grpc of addresses, and refuses other schemes by name', () => {
    const resolver = of({ cluster: { worker: ['grpc://a:1', 'GRPC://[::1]:2/'], chief: { 0: 'grpc://c:3' } } });
    expect(resolver.clusterSpec().asDescription()).toEqual({ chief: ['c:3'], worker: ['a:1', '[::1]:2'] });
    expect(() => of({ cluster: { worker: ['a:1', 'https://b:2'] } }).clusterSpec()).toThrow(
      'the address "https://b:2" of a task has the scheme "https": write host:port',
    );
  });

  it('reads TF_CONFIG anew at each call', () => {
    const variables: Record<string, string> = {};
    const resolver = new TFConfigClusterResolver({ variables });
    expect(resolver.taskId).toBeUndefined();
    variables['TF_CONFIG'] = JSON.stringify({ cluster, task: { type: 'worker', index: '1' }, rpc_layer: 'grpc' });
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer]).toEqual(['worker', 1, 'grpc']);
    expect(resolver.master()).toBe('grpc://b:1');
    expect(resolver.clusterSpec().asDescription()).toEqual(cluster);
  });

  it('prefers the options of its constructor over TF_CONFIG', () => {
    const resolver = of(
      { cluster, task: { type: 'worker', index: 1 } },
      { taskType: 'chief', taskId: 0, rpcLayer: 'tcp' },
    );
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer]).toEqual(['chief', 0, 'tcp']);
    expect(resolver.master({ taskType: 'worker', taskId: 0 })).toBe('tcp://a:1');
  });

  it('returns the master for sessions, and none for a single task', () => {
    expect(of({ cluster, session_master: 'there:1' }).master()).toBe('there:1');
    expect(of({ cluster: { worker: ['a:1'] } }).master()).toBe('');
    expect(() => of({ cluster }).master()).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
    expect(() => of({ cluster }).master()).toThrow('TF_CONFIG does not name the task of this process');
    expect(() => of({ cluster, task: { type: 'worker' } }).master()).toThrow('pass taskType and taskId');
    expect(() => of({ cluster, task: { index: 0 } }).master()).toThrow('pass taskType and taskId');
    expect(of({ cluster: { worker: ['a:1'], chief: ['c:1'] }, task: { type: 'chief', index: 0 } }).master()).toBe(
      'c:1',
    );
    expect(() => of({ cluster, task: { type: 'worker', index: 2 } }).master()).toThrow('has no task 2');
  });

  it('counts the devices of its task', () => {
    const devices = ['GPU:0', 'GPU:1', 'CPU:0'].map((device) => `/job:worker/task:1/device:${device}`);
    const resolver = of(
      { cluster, task: { type: 'worker', index: 1 } },
      { devices: [...devices, '/job:worker/task:0/device:GPU:0', '/job:ps/task:1/device:GPU:0', '/job:worker/task:1'] },
    );
    expect(resolver.numAccelerators()).toEqual({ GPU: 2 });
    expect(resolver.numAccelerators({ taskId: 0 })).toEqual({ GPU: 1 });
    const single = of({}, { devices: ['CPU:0', 'GPU:0'].map((device) => `/job:localhost/task:0/device:${device}`) });
    expect(single.numAccelerators()).toEqual({ GPU: 1 });
    expect(single.numAccelerators({ taskId: 5 })).toEqual({ GPU: 1 });
    expect(single.numAccelerators({ taskType: 'worker' })).toEqual({ GPU: 1 });
  });

  it.each(['{', '[]', '1', '"x"', 'null'])('refuses the TF_CONFIG %s', (text) => {
    expect(() => new TFConfigClusterResolver({ variables: { TF_CONFIG: text } }).clusterSpec()).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it.each(['one', '', '-1', '0x1', '1e0', '1 1', 'x1', '1x', '1000000000', -1, 1.5, 1e300, [], [1], true, {}])(
    'refuses the task number %j',
    (index) => {
      const resolver = of({ task: { type: 'worker', index } });
      expect(() => resolver.taskId).toThrow('TF_CONFIG: task.index must be a whole number, 0 or more, got ');
      expect(() => resolver.taskId).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }));
    },
  );

  it.each([
    ['1', 1],
    [' 12 ', 12],
    ['999999999', 999_999_999],
    [null, undefined],
    [undefined, undefined],
    [0, 0],
  ])('reads the task number %j', (index, taskId) => {
    expect(of({ task: { type: 'worker', index } }).taskId).toBe(taskId);
  });

  it('reports what is wrong with a cluster, and keeps the original error as the cause', () => {
    const resolver = of({ cluster: { worker: 'a:1' } });
    const cause = expect.objectContaining({
      message: expect.stringContaining("with the addresses of each job's"),
    });
    const refused = { name: 'ValueError', code: 'ERR_COLL_CLUSTER', cause };
    expect(() => resolver.clusterSpec()).toThrow(expect.objectContaining(refused));
    expect(() => resolver.clusterSpec()).toThrow(/^TF_CONFIG: a cluster must be an object/);
    const noJson = () => new TFConfigClusterResolver({ variables: { TF_CONFIG: '{' } }).clusterSpec();
    expect(noJson).toThrow(expect.objectContaining({ code: 'ERR_COLL_CLUSTER', cause: expect.any(SyntaxError) }));
  });

  it('reads the environment from TF_CONFIG, but prefers the option environment', () => {
    expect([
      of({ environment: 'cloud' }).environment,
      of({ environment: 'cloud' }, { environment: 'own' }).environment,
    ]).toEqual(['cloud', 'own']);
  });

  it('converts a numeric task type to a string', () => {
    expect(of({ cluster: { 5: ['a:1'] }, task: { type: 5, index: 0 } }).taskType).toBe('5');
  });

  it.each([true, [], { toString: '' }])('refuses the task type %j', (type) => {
    expect(() => of({ task: { type, index: 0 } }).taskType).toThrow(/TF_CONFIG: task.type must be a string/);
  });

  it('refuses rpc_layer, session_master and environment if they are not strings, and treats null as missing', () => {
    expect(() => of({ rpc_layer: 5 }).rpcLayer).toThrow(/TF_CONFIG: rpc_layer must be a string, got 5/);
    expect(() => of({ session_master: {} }).master()).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
    expect(() => of({ environment: false }).environment).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
    const none = of({ session_master: null, rpc_layer: null, environment: null });
    expect([none.master(), none.rpcLayer, none.environment]).toEqual(['', undefined, '']);
  });

  it('returns a result or throws a ValueError for any TF_CONFIG', () => {
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
  it('returns the values that it was given', () => {
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
    expect(resolver.master({ taskType: 'worker' })).toBe('grpc://m:1');
    expect(resolver.master({ taskId: 0 })).toBe('grpc://m:1');
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer, resolver.environment]).toEqual([
      'worker',
      1,
      'grpc',
      '',
    ]);
    expect(new SimpleClusterResolver(two, { environment: 'here' }).environment).toBe('here');
  });

  it('refuses a cluster that is not a ClusterSpec and a master that is not a string', () => {
    expect(() => new SimpleClusterResolver({ worker: ['a:1'] } as never)).toThrow(TypeError);
    for (const master of [1, null])
      expect(() => new SimpleClusterResolver(two, { master: master as never })).toThrow(
        expect.objectContaining({ name: 'TypeError', message: `the master must be an address, got ${master}` }),
      );
  });
});

describe('UnionResolver', () => {
  const simple = (description: object, options = {}) =>
    new SimpleClusterResolver(new ClusterSpec(description as never), options);

  it('concatenates task lists in the order of the resolvers', () => {
    const union = new UnionResolver([
      simple({ worker: ['a:1'], chief: ['c:1'] }, { taskType: 'worker', taskId: 0, rpcLayer: 'grpc' }),
      simple({ worker: ['b:1'] }),
    ]);
    expect(union.clusterSpec().asDescription()).toEqual({ chief: ['c:1'], worker: ['a:1', 'b:1'] });
    expect(union.master({ taskType: 'worker', taskId: 1 })).toBe('grpc://b:1');
    expect([union.taskType, union.taskId, union.rpcLayer]).toEqual(['worker', 0, 'grpc']);
    expect(union.master({ taskType: 'worker', taskId: 1, rpcLayer: 'tcp' })).toBe('tcp://b:1');
  });

  it('returns the answers of the first resolver if no task is given', () => {
    const options = { master: 'm:1', environment: 'here', numAccelerators: { GPU: 2 }, rpcLayer: 'grpc' };
    const union = new UnionResolver([simple({ worker: ['a:1'] }, options), simple({ worker: ['b:1'] })]);
    expect([union.master(), union.master({ rpcLayer: 'tcp' })]).toEqual(['grpc://m:1', 'tcp://m:1']);
    expect([union.master({ taskType: 'worker' }), union.master({ taskId: 1 })]).toEqual(['grpc://m:1', 'grpc://m:1']);
    expect([union.environment, union.numAccelerators()]).toEqual(['here', { GPU: 2 }]);
  });

  it('merges numbered tasks, and refuses duplicates', () => {
    const maps = [simple({ worker: { 1: 'a:1' } }), simple({ worker: { 3: 'b:1' } })];
    expect(new UnionResolver(maps).clusterSpec().asDescription()).toEqual({ worker: { 1: 'a:1', 3: 'b:1' } });
    expect(() => new UnionResolver([...maps, simple({ worker: { 3: 'c:1' } })]).clusterSpec()).toThrow(KeyError);
    expect(() => new UnionResolver([...maps, simple({ worker: { 3: 'c:1' } })]).clusterSpec()).toThrow(
      expect.objectContaining({
        code: 'ERR_COLL_KEY',
        message: expect.stringContaining('task 3 of job "worker" has two addresses'),
      }),
    );
    expect(() => new UnionResolver([...maps, simple({ worker: ['x:1', 'y:1'] })]).clusterSpec()).toThrow('a:1 and y:1');
  });

  it('prefers its own options, including 0 and empty strings', () => {
    const first = simple({}, { taskType: 'worker', taskId: 3, rpcLayer: 'grpc' });
    const union = new UnionResolver([first], { taskId: 0, rpcLayer: '' });
    expect([union.taskType, union.taskId, union.rpcLayer]).toEqual(['worker', 0, '']);
  });

  it('refuses an empty list, other values, and unknown options', () => {
    expect(() => new UnionResolver([])).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => new UnionResolver([simple({}), {} as never])).toThrow(TypeError);
    expect(() => new UnionResolver([simple({}), {} as never])).toThrow(/^resolver 1 must be a ClusterResolver/);
    expect(() => new UnionResolver([{} as never])).toThrow(/^resolver 0 must be a ClusterResolver, got an object/);
    expect(() => new UnionResolver({} as never)).toThrow(/^resolvers must be a list, got/);
    expect(() => new UnionResolver([simple({})], { taskIds: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_VALUE' }),
    );
    expect(() => new UnionResolver([simple({})], { taskIds: 1 } as never)).toThrow('unknown option "taskIds"');
  });
});

it.each<[string, () => unknown]>([
  ['TFConfigClusterResolver', () => new TFConfigClusterResolver(null as never)],
  ['SimpleClusterResolver', () => new SimpleClusterResolver(new ClusterSpec({ worker: ['a:1'] }), 1 as never)],
  ['UnionResolver', () => new UnionResolver([new TFConfigClusterResolver()], null as never)],
  ['SlurmClusterResolver', () => new SlurmClusterResolver(null as never)],
  ['EnvironmentClusterResolver', () => new EnvironmentClusterResolver('statefulSetService' as never)],
  ['KubernetesClusterResolver', () => KubernetesClusterResolver.create([] as never)],
])('%s requires options to be an object', async (_, make) => {
  await expect((async () => make())()).rejects.toThrow('options must be an object');
});
