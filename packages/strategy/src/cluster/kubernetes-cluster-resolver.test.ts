import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../node/kubernetes-client.js';
import { KubernetesClusterResolver, type KubernetesOptions } from './kubernetes-cluster-resolver.js';

describe('KubernetesClusterResolver', () => {
  const clientOf = (pods: Readonly<Record<string, readonly Pod[]>>) => ({
    listPods: async (selector: string) => pods[selector] ?? [],
  });
  const pod = (name: string, hostIP: string, phase = 'Running') => ({ name, hostIP, phase });

  it('sorts the pods of a label by name', async () => {
    const client = clientOf({ 'job-name=tensorflow': [pod('w-1', '10.0.0.2'), pod('w-0', '10.0.0.1')] });
    const resolver = await KubernetesClusterResolver.create({ client });
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker: ['10.0.0.1:8470', '10.0.0.2:8470'] });
    expect([resolver.taskType, resolver.master()]).toEqual([undefined, '']);
    expect([resolver.master({ taskType: 'worker' }), resolver.master({ taskId: 1 })]).toEqual(['', '']);
    resolver.taskType = 'worker';
    resolver.taskId = 1;
    expect(resolver.master()).toBe('grpc://10.0.0.2:8470');
  });

  it('keeps the listed order for pods with the same name in several namespaces', async () => {
    const client = clientOf({ 'job-name=tensorflow': ['3', '1', '2'].map((ip) => pod('w-0', ip)) });
    const resolver = await KubernetesClusterResolver.create({ client });
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker: ['3:8470', '1:8470', '2:8470'] });
  });

  it('accepts the task and the protocol from the caller', async () => {
    const client = clientOf({ 'job-name=tensorflow': [pod('w-0', '10.0.0.1'), pod('w-1', '10.0.0.2')] });
    const options = { client, taskType: 'worker', taskId: 1, rpcLayer: 'tcp' };
    const resolver = await KubernetesClusterResolver.create(options);
    expect([resolver.taskType, resolver.taskId, resolver.rpcLayer]).toEqual(['worker', 1, 'tcp']);
    expect([resolver.master(), resolver.master({ taskId: 0, rpcLayer: '' })]).toEqual([
      'tcp://10.0.0.2:8470',
      '10.0.0.1:8470',
    ]);
    expect([resolver.numAccelerators(), resolver.environment]).toEqual([{}, '']);
    expect((await KubernetesClusterResolver.create({ client })).rpcLayer).toBe('grpc');
  });

  it.each([1, 65_535])('uses port %i for the addresses of pods', async (serverPort) => {
    const client = clientOf({ 'job-name=tensorflow': [pod('w-0', '10.0.0.1')] });
    const resolver = await KubernetesClusterResolver.create({ client, serverPort });
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker: [`10.0.0.1:${serverPort}`] });
  });

  it('uses the podIP of a pod if the client returns one, and otherwise or on request the hostIP', async () => {
    const pods = [{ ...pod('a', '10.0.0.1'), podIP: '172.16.0.7' }, pod('b', '10.0.0.2')];
    const client = clientOf({ 'job-name=tensorflow': pods });
    const addresses = async (options: KubernetesOptions) =>
      (await KubernetesClusterResolver.create({ client, ...options })).clusterSpec().asDescription();
    expect(await addresses({})).toEqual({ worker: ['172.16.0.7:8470', '10.0.0.2:8470'] });
    expect(await addresses({ address: 'hostIP' })).toEqual({ worker: ['10.0.0.1:8470', '10.0.0.2:8470'] });
    const own = clientOf({ 'job-name=tensorflow': [{ name: 'a', phase: 'Running', podIP: '172.16.0.7' } as never] });
    expect(await addresses({ client: own })).toEqual({ worker: ['172.16.0.7:8470'] });
    await expect(addresses({ address: 'pod' as never })).rejects.toThrow(
      /address must be 'podIP' or 'hostIP', got "pod"/,
    );
  });

  it('accepts several labels and jobs', async () => {
    const client = clientOf({ 'a=1': [pod('x', '1')], 'a=2': [pod('b', '2')], c: [pod('c', '3')] });
    const jobToLabelMapping = { worker: ['a=1', 'a=2'], chief: ['c'] };
    const resolver = await KubernetesClusterResolver.create({ client, jobToLabelMapping, serverPort: 9 });
    expect(resolver.clusterSpec().asDescription()).toEqual({ chief: ['3:9'], worker: ['1:9', '2:9'] });
  });

  it('writes IPv6 addresses in brackets', async () => {
    const client = clientOf({ 'job-name=tensorflow': [pod('w-0', 'fd00::1')] });
    const resolver = await KubernetesClusterResolver.create({ client });
    expect(resolver.clusterSpec().asDescription()).toEqual({ worker: ['[fd00::1]:8470'] });
  });

  it('refuses labels that are not a list', async () => {
    const jobToLabelMapping = { worker: 'app=train' } as never;
    await expect(KubernetesClusterResolver.create({ client: clientOf({}), jobToLabelMapping })).rejects.toThrow(
      'jobToLabelMapping must have a list of label selectors for each job, { worker: [\'app=train\'] }, got "app=train"',
    );
  });

  it.each<[string, KubernetesOptions]>([
    ['jobToLabelMapping must have a list', { jobToLabelMapping: null as never }],
    ['jobToLabelMapping must have a list', { jobToLabelMapping: ['a'] as never }],
    ["{ worker: ['app=train'] }, got 5", { jobToLabelMapping: 5 as never }],
    ['{ worker: [\'app=train\'] }, got "app"', { jobToLabelMapping: 'app' as never }],
    ['{ worker: [\'app=train\'] }, got ["a"]', { jobToLabelMapping: ['a'] as never }],
    ['jobToLabelMapping must have a list', { jobToLabelMapping: { worker: undefined } as never }],
    ['got "app=ps"', { jobToLabelMapping: { worker: ['app=train'], ps: 'app=ps' } as never }],
    ['serverPort must be a port from 1 to 65535, got 0', { serverPort: 0 }],
    ['serverPort must be a port from 1 to 65535, got "http"', { serverPort: 'http' as never }],
    ['serverPort must be a port from 1 to 65535, got "80"', { serverPort: '80' as never }],
    ['serverPort must be a port from 1 to 65535, got 65536', { serverPort: 65_536 }],
    ['serverPort must be a port from 1 to 65535, got 1.5', { serverPort: 1.5 }],
    ["address must be 'podIP' or 'hostIP', got \"\"", { address: '' as never }],
    [
      'pod w-1 of job worker is not running, its phase is Pending: wait until all pods run',
      {
        client: clientOf({ 'job-name=tensorflow': [pod('w-0', '10.0.0.1'), pod('w-1', '', 'Pending')] }),
      },
    ],
    [
      'hostIP }], got an object',
      {
        client: clientOf({ 'job-name=tensorflow': [{ ...pod('w-0', '10.0.0.1'), podIP: 5 as never }] }),
      },
    ],
    [
      'hostIP }], got an object',
      { client: clientOf({ 'job-name=tensorflow': [{ ...pod('w-0', '10.0.0.1'), hostIP: 5 as never }] }) },
    ],
    ['client must be { listPods', { client: {} as never }],
    [
      'listPods of the client must return a list of pods, [{ name, phase, hostIP }], got undefined',
      { client: { listPods: async () => {} } as never },
    ],
    ['hostIP }], got null', { client: clientOf({ 'job-name=tensorflow': [null as never] }) }],
    ['hostIP }], got an object', { client: clientOf({ 'job-name=tensorflow': [{ phase: 'Running' } as never] }) }],
    ['pod w-0 of job worker has no address', { client: clientOf({ 'job-name=tensorflow': [pod('w-0', '')] }) }],
  ])('reports the invalid option %s', async (message, options) => {
    const create = KubernetesClusterResolver.create({ client: clientOf({}), ...options });
    await expect(create).rejects.toMatchObject({ code: 'ERR_COLL_CLUSTER', message: expect.stringContaining(message) });
  });

  it('refuses a pod that is not running, and fails outside Kubernetes', async () => {
    const client = clientOf({ 'job-name=tensorflow': [pod('w-0', '10.0.0.1', 'Pending')] });
    await expect(KubernetesClusterResolver.create({ client })).rejects.toThrow(
      'w-0 of job worker is not running, its phase is Pending',
    );
    await expect(KubernetesClusterResolver.create()).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CLUSTER',
    });
  });

  it('returns the address of every pod or throws, for any list of pods', async () => {
    const odd = fc.constantFrom<unknown>(undefined, null, '', 'w-0', 'Running', 'Pending', 5, []);
    const pods = fc.oneof(odd, fc.array(fc.oneof(odd, fc.record({ name: odd, phase: odd, hostIP: odd }))));
    await fc.assert(
      fc.asyncProperty(pods, async (listed) => {
        const create = KubernetesClusterResolver.create({ client: { listPods: async () => listed as never } });
        const made = await create.catch((error: unknown) => error);
        if (made instanceof KubernetesClusterResolver)
          expect(made.clusterSpec().numTasks('worker')).toBe((listed as readonly Pod[]).length);
        else expect(made).toMatchObject({ code: 'ERR_COLL_CLUSTER' });
      }),
    );
  });
});
