import {
  CollectiveHints,
  CommunicationOptions,
  RuntimeError,
  setLogSink,
  type Tensor,
  tensor,
  toNumbers,
} from '@coll/core';
import { TcpStoreServer } from '@coll/rendezvous';
import {
  ClusterSpec,
  ExperimentalMultiWorkerMirroredStrategy,
  MultiWorkerMirroredStrategy,
  type MultiWorkerMirroredStrategyOptions,
  SimpleClusterResolver,
  Strategy,
  TFConfigClusterResolver,
  variable,
} from '@coll/strategy';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../rendezvous/test/free-port.js';
import { closeGroups, groupsHere, workersHere } from './workers-here.js';

const numbersOf = (value: unknown) => toNumbers(value as Tensor);

afterEach(closeGroups);
afterEach(() => setLogSink());

describe('a MultiWorkerMirroredStrategy', () => {
  const cluster = { chief: ['a:1'], worker: ['b:1'], evaluator: ['c:1'] };
  const resolverOf = (taskType: string, taskId = 0) =>
    new SimpleClusterResolver(new ClusterSpec(cluster), { taskType, taskId });

  it.each([
    ['chief', true],
    ['worker', false],
    ['evaluator', true],
  ])('of %s saves checkpoints and summaries: %s', (taskType, isChief) => {
    const { extended, clusterResolver } = new MultiWorkerMirroredStrategy({ clusterResolver: resolverOf(taskType) });
    expect(clusterResolver).toBeInstanceOf(SimpleClusterResolver);
    const { shouldCheckpoint, shouldSaveSummary, experimentalBetweenGraph, experimentalShouldInit } = extended;
    expect([shouldCheckpoint, shouldSaveSummary]).toEqual([isChief, isChief]);
    expect([experimentalBetweenGraph, experimentalShouldInit]).toEqual([true, true]);
    expect(extended.workerDevices).toEqual([`/job:${taskType}/replica:0/task:0/device:CPU:0`]);
  });

  it('is a single worker without a cluster, and prefers a launcher over TF_CONFIG', async () => {
    vi.stubEnv('TF_CONFIG', '');
    await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    expect(strategy.clusterResolver).toBeInstanceOf(TFConfigClusterResolver);
    const made = strategy.scope(() => variable([1, 2], { aggregation: 'mean' }));
    const sum = await strategy.run((context) => context.allReduce('sum', tensor([1])));
    expect(strategy.experimentalLocalResults(sum).map(numbersOf)).toEqual([[2], [2]]);
    expect(numbersOf(made.read())).toEqual([1, 2]);
    const module = new URL('./fixtures/worker-replica.ts', import.meta.url);
    const threads = await strategy.run(module, { args: [1, 0] });
    expect(strategy.experimentalLocalResults(threads as unknown)).toMatchObject([
      { sum: [1, 2], merged: [[[0], [1]], [1]] },
      { sum: [1, 2], merged: [[[0], [1]], [1]] },
    ]);
    expect(await strategy.explain()).toMatchObject({ workers: 1, worker: 0, links: [] });
    vi.unstubAllEnvs();
  });

  it('refuses invalid options and resolvers', () => {
    const make = (options: unknown) => () => new MultiWorkerMirroredStrategy(options as never);
    for (const [options, message] of [
      [
        { communicationOptions: 'RING' },
        /communicationOptions must be CommunicationOptions or an object with its fields, got "RING"/,
      ],
      [
        { communicationOptions: { bytesPerPack: -1 } },
        /bytesPerPack must be a whole number of bytes, 0 or more, got -1/,
      ],
      [{ clusterResolver: cluster }, /clusterResolver must be a ClusterResolver/],
      [resolverOf('chief'), /the argument must be one object/],
      ['chief', /the argument must be one object, .*, got "chief"/],
      [null, /the argument must be one object, .*, got null/],
      [[], /the argument must be one object/],
      [{ group: Promise.resolve() }, /group must be a process group, the result of `await openProcessGroup/],
      [{ startupTimeoutSeconds: -3 }, /startupTimeoutSeconds must be a number, 0 or more, or null, got -3/],
      [{ startupTimeoutSeconds: '5' }, /startupTimeoutSeconds must be a number, 0 or more, or null, got "5"/],
      [{ startupTimeoutSeconds: Number.NaN }, /startupTimeoutSeconds must be a number, 0 or more, or null, got NaN/],
      [
        { communicationOptions: null },
        /communicationOptions must be CommunicationOptions or an object with its fields, got null/,
      ],
      [{ job: 7 }, /job must be a string, got 7/],
      [{ job: null }, /job must be a string, got null/],
    ] as const) {
      expect(make(options)).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }));
      expect(make(options)).toThrow(message);
    }
    expect(make({ clusterResolver: resolverOf('ps') })).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_CLUSTER', message: expect.stringContaining('not in the cluster') }),
    );
    for (const startupTimeoutSeconds of [0, 0.5, null]) expect(make({ startupTimeoutSeconds })).not.toThrow();
    expect(make({ communicationOptions: new CollectiveHints({ bytesPerPack: 1 }) })).not.toThrow();
    expect(make({ communicationOptions: { bytesPerPack: 1, implementation: 'ring' } })).not.toThrow();
  });

  it('keeps a group that was passed open, and refuses to send it to threads', async () => {
    const [strategy] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy];
    const module = new URL('./fixtures/worker-replica.ts', import.meta.url);
    await expect(strategy.run(module)).rejects.toMatchObject({ code: 'ERR_COLL_NOT_CLONEABLE', operation: 'run' });
    await expect(strategy.run('module.js' as never)).rejects.toMatchObject({
      code: 'ERR_COLL_VALUE',
      operation: 'run',
    });
  });

  it('refuses a group that does not match its cluster', async () => {
    const [group] = await groupsHere(3);
    const make = () => new MultiWorkerMirroredStrategy({ clusterResolver: resolverOf('chief'), group: group as never });
    expect(make).toThrow(/worker 0 of 2, but the group .* rank 0 of 3/);
    expect(make).toThrow(expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }));
  });

  it('refuses a group in which this process has another rank', async () => {
    const [, group] = await groupsHere(2);
    const make = () => new MultiWorkerMirroredStrategy({ clusterResolver: resolverOf('chief'), group: group as never });
    expect(make).toThrow(/worker 0 of 2, but the group .* rank 1 of 2/);
  });

  it('uses the rank of the group if no cluster is described', async () => {
    vi.stubEnv('TF_CONFIG', '');
    const groups = await groupsHere(2);
    const strategies = groups.map((group) => new MultiWorkerMirroredStrategy({ group, devices: ['cpu:0'] }));
    vi.unstubAllEnvs();
    expect(strategies.map(({ extended }) => extended.shouldCheckpoint)).toEqual([true, false]);
    expect(strategies.map(({ extended }) => extended.workerDevices)).toEqual(
      [0, 1].map((task) => [`/job:worker/replica:0/task:${task}/device:CPU:0`]),
    );
  });

  /** Two strategies that open their group themselves. */
  function strategiesAt(port: number, options: MultiWorkerMirroredStrategyOptions) {
    const worker = [`127.0.0.1:${port}`, '127.0.0.1:1'];
    return worker.map((_, taskId) => {
      const clusterResolver = new SimpleClusterResolver(new ClusterSpec({ worker }), { taskType: 'worker', taskId });
      return new MultiWorkerMirroredStrategy({ clusterResolver, devices: ['cpu:0'], host: '127.0.0.1', ...options });
    });
  }

  it('encrypts connections within a host if the option encrypt says so', async () => {
    const options = { jobKey: TcpStoreServer.newKey(), transport: 'tcp', encrypt: 'always' } as const;
    const strategies = strategiesAt(await freePort(), options);
    const explanations = await Promise.all(strategies.map((strategy) => strategy.explain()));
    for (const { links } of explanations) expect(links[0]?.reason).toMatch(/encrypted by TLS_/);
    await Promise.all(strategies.map((strategy) => strategy.close()));
    const [contradicting] = strategiesAt(await freePort(), { ...options, insecure: true });
    await expect(contradicting?.ready()).rejects.toThrow(/encrypt: 'always' and insecure: true .* contradict/);
    await contradicting?.close();
  });

  it('closes the group and the store that it opened', async () => {
    const port = await freePort();
    const job = { job: 'closes', jobKey: TcpStoreServer.newKey() };
    const strategies = strategiesAt(port, job);
    await Promise.all(strategies.map((strategy) => strategy.ready()));
    await expect(TcpStoreServer.listen({ ...job, port })).rejects.toThrow(/EADDRINUSE/);
    await Promise.all(strategies.map((strategy) => strategy.close()));
    await using again = await TcpStoreServer.listen({ ...job, port });
    expect(again.address).toBe(`tcp://127.0.0.1:${port}`);
  });

  it('combines the value of one GPU per worker on that GPU', async () => {
    const workers = await workersHere(2, 1, { devices: ['gpu:0'] });
    const devices = await Promise.all(
      workers.map(async (strategy) => {
        const reduced = await strategy.extended.reduceTo('sum', tensor([1]), tensor([0]));
        return (reduced as Tensor).device;
      }),
    );
    expect(devices).toEqual([0, 1].map((task) => `/job:worker/replica:0/task:${task}/device:GPU:0`));
  });

  it('warns if NCCL is requested without GPUs', () => {
    const sink = vi.fn();
    setLogSink((level, message) => sink(level, message));
    const communicationOptions = new CommunicationOptions({ implementation: 'NCCL' });
    new MultiWorkerMirroredStrategy({ clusterResolver: resolverOf('chief'), communicationOptions });
    expect(sink).toHaveBeenCalledWith('warn', expect.stringMatching(/NCCL .* no GPUs/));
  });

  it('reports which engine reduces: that of the group, or within a worker its own', async () => {
    const explained = async (replicas: number) => {
      const workers = await workersHere(2, replicas, { engine: 'js' });
      const [explanation] = await Promise.all(workers.map((strategy) => strategy.explain()));
      return explanation;
    };
    const links = [{ rank: 1, transport: 'shared-memory' }];
    expect(await explained(1)).toMatchObject({ engine: 'native', engines: [], links });
    expect(await explained(2)).toMatchObject({ engine: 'js', engines: [{ name: 'js' }], links });
  });

  it.each([1, 2])('reduces the values of %i replicas per worker on their devices', async (replicas) => {
    const workers = await workersHere(2, replicas);
    const sums = await Promise.all(
      workers.map((strategy) =>
        strategy.run(async (replica) =>
          replica.mergeCall(
            (inside, value) => inside.extended.reduceTo('sum', value, value as Tensor),
            [tensor([replica.replicaIdInSyncGroup])],
          ),
        ),
      ),
    );
    const sum = replicas === 1 ? 1 : 6;
    expect(sums.flatMap((each) => workers[0]?.experimentalLocalResults(each as unknown).map(numbersOf))).toEqual(
      Array.from({ length: 2 * replicas }, () => [sum]),
    );
  });

  it('logs once that on CPUs a ring replaces NCCL', async () => {
    const lines: string[] = [];
    setLogSink((_, message) => lines.push(message));
    const communicationOptions = new CommunicationOptions({ implementation: 'NCCL' });
    const workers = await workersHere(2, 2, { communicationOptions });
    const [first] = workers;
    const sums = await Promise.all(
      workers.map((strategy) =>
        strategy.run(async (replica) => replica.allReduce('sum', tensor([replica.replicaIdInSyncGroup]))),
      ),
    );
    expect(sums.flatMap((sum) => first?.experimentalLocalResults(sum).map(numbersOf))).toEqual([[6], [6], [6], [6]]);
    // One line a strategy.
    expect(lines.filter((line) => /NCCL was requested/.test(line))).toHaveLength(2);
    const { notes } = (await first?.explain()) ?? {};
    expect(notes?.filter((note) => note.includes('NCCL'))).toEqual([
      'NCCL was requested, but this worker has no GPUs: a ring is used instead',
    ]);
  });

  it('is an instance of its experimental class, and vice versa', () => {
    const sink = vi.fn();
    setLogSink((level, message) => sink(level, message));
    const old = new ExperimentalMultiWorkerMirroredStrategy({
      clusterResolver: resolverOf('chief'),
      communication: 'RING',
    });
    const strategy = new MultiWorkerMirroredStrategy({ clusterResolver: resolverOf('chief') });
    expect(old).toBeInstanceOf(MultiWorkerMirroredStrategy);
    expect(() => new ExperimentalMultiWorkerMirroredStrategy('RING' as never)).toThrow(/\{ communication: 'RING' \}/);
    expect(strategy).toBeInstanceOf(ExperimentalMultiWorkerMirroredStrategy);
    expect(strategy).toBeInstanceOf(Strategy);
    const message = 'ExperimentalMultiWorkerMirroredStrategy is deprecated; use MultiWorkerMirroredStrategy instead';
    expect(sink).toHaveBeenCalledWith('warn', message);
    class Mine extends ExperimentalMultiWorkerMirroredStrategy {}
    expect(strategy).not.toBeInstanceOf(Mine);
    expect(new Mine({ clusterResolver: resolverOf('chief') })).toBeInstanceOf(Mine);
    expect({}).not.toBeInstanceOf(ExperimentalMultiWorkerMirroredStrategy);
    expect(sink).toHaveBeenCalledWith('info', expect.stringMatching(/communication RING/));
  });

  it('must have joined the other workers before a variable is created', async () => {
    const [strategy] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy];
    expect(() => strategy.scope(() => variable(1))).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CONTEXT', operation: 'broadcast' }),
    );
    expect(() => strategy.scope(() => variable(1))).toThrow(/await strategy.ready\(\)/);
  });

  it.each(['AUTO', 'RING'] as const)('is ready when all workers are, with any executor: %s', async (implementation) => {
    const communicationOptions = new CommunicationOptions({ implementation });
    const [first, second] = await workersHere(2, 1, { communicationOptions });
    const messages: string[] = [];
    const ready = first?.ready().then(() => messages.push('ready'));
    await new Promise((resolve) => setTimeout(resolve, 50));
    messages.push('comes');
    await Promise.all([ready, second?.ready()]);
    expect(messages).toEqual(['comes', 'ready']);
  });

  it('refuses a different number of devices on the workers, on all workers', async () => {
    const groups = await groupsHere(3);
    const devices = [['cpu:0'], ['cpu:0'], ['cpu:0', 'cpu:1']];
    const ready = groups.map((group, rank) =>
      new MultiWorkerMirroredStrategy({ group, devices: devices[rank] }).ready(),
    );
    for (const { status, reason } of (await Promise.allSettled(ready)) as PromiseRejectedResult[]) {
      expect(status).toBe('rejected');
      expect(reason).toBeInstanceOf(RuntimeError);
      expect(reason).toMatchObject({
        ...{ code: 'ERR_COLL_CLUSTER', rank: 2, operation: 'start' },
        message: 'worker 0 has 1 device, worker 2 has 2 devices: all workers must have the same number',
      });
    }
  });

  it('merges the options of a call into its own options', async () => {
    // Long enough for the workers to measure their links on a busy machine.
    const communicationOptions = new CommunicationOptions({ timeoutSeconds: 1 });
    const [early, late] = (await workersHere(2, 1, { communicationOptions })) as [
      Strategy,
      MultiWorkerMirroredStrategy,
    ];
    await Promise.all([(early as MultiWorkerMirroredStrategy).ready(), late.ready()]);
    const sum = early.run((context) => context.allReduce('sum', tensor([1])));
    await expect(sum).rejects.toMatchObject({ code: 'ERR_COLL_DEADLINE', message: expect.stringMatching(/rank 1/) });
  });

  it.each([
    ['options', { options: new CommunicationOptions({ timeoutSeconds: 0.05 }) }],
    ['experimentalHints', { experimentalHints: new CommunicationOptions({ timeoutSeconds: 0.05 }) }],
    ['their fields', { timeoutSeconds: 0.05 }],
  ])('times out a reduce after the timeoutSeconds of its %s', async (_name, options) => {
    const [early, late] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy, MultiWorkerMirroredStrategy];
    await Promise.all([early.ready(), late.ready()]);
    await expect(early.reduce('sum', tensor([1]), null, options)).rejects.toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      message: expect.stringMatching(/rank 1/),
    });
  });

  it('times out a mean along an axis if a worker does not count its elements', async () => {
    const [early, late] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy, MultiWorkerMirroredStrategy];
    await Promise.all([early.ready(), late.ready()]);
    const mean = early.reduce('mean', tensor([1, 2]), 0, { timeoutSeconds: 0.05 });
    await expect(mean).rejects.toMatchObject({ code: 'ERR_COLL_DEADLINE' });
  });

  it('fails the other workers when it fails, with a message that names it', async () => {
    const strategies = await workersHere(2, 2);
    const outcomes = await Promise.allSettled(
      strategies.map((strategy) =>
        strategy.run(async (context) => {
          if (context.replicaIdInSyncGroup === 3) throw new RangeError('out of memory');
          return context.allReduce('sum', tensor([1]));
        }),
      ),
    );
    expect(outcomes).toMatchObject([
      { status: 'rejected', reason: { message: expect.stringMatching(/replica 3: out of memory/) } },
      { status: 'rejected', reason: expect.any(RangeError) },
    ]);
    expect(outcomes[1]).toMatchObject({ reason: { message: 'replica 3: out of memory', rank: 3 } });
  });

  it.each(['at the store', 'for the store'])('can be closed while it waits %s for the others', async (where) => {
    const jobKey = TcpStoreServer.newKey();
    await using server = await TcpStoreServer.listen({ job: 'alone', jobKey });
    vi.stubEnv('COLL_STORE', server.address);
    if (where === 'for the store') await server.close();
    const clusterResolver = resolverOf('worker');
    const strategy = new MultiWorkerMirroredStrategy({ clusterResolver, host: '127.0.0.1', job: 'alone', jobKey });
    const refused = expect(strategy.ready()).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CLOSED',
      operation: 'start',
      cause: expect.any(Error),
      message: expect.stringMatching(/was closed while it waited for the other workers/),
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    await strategy.close();
    await refused;
  });

  it('refuses calls after close', async () => {
    const [strategy] = (await workersHere(2, 1)) as [MultiWorkerMirroredStrategy];
    await strategy.close();
    await strategy.close();
    await expect(strategy.run(() => 1)).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_CLOSED', operation: 'start' },
      message: 'this MultiWorkerMirroredStrategy was closed; create a new one',
    });
  });
});
