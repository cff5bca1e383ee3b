import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as core from '@coll/core';
import * as internal from '@coll/core/internal';
import * as plugin from '@coll/core/plugin';
import { cost } from '@coll/core/schedule';
import { DirectAllReduce } from '@coll/direct';
import { AllReduceCrossDeviceOps, HierarchicalCopyAllReduce } from '@coll/hierarchical-copy';
import { openMpiGroup } from '@coll/mpi';
import * as multiWorker from '@coll/multi-worker';
import { configureNative } from '@coll/native';
import { Gpu, NcclAllReduce, NcclCommunicator, probe } from '@coll/nccl';
import { openProcessGroup } from '@coll/processes';
import { ReductionToOneDevice, reductionToOneAlgorithm } from '@coll/reduction-to-one';
import * as rendezvous from '@coll/rendezvous';
import { RingAllReduce, ringAlgorithm } from '@coll/ring';
import * as strategy from '@coll/strategy';
import * as testing from '@coll/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memberCalls } from './member-calls.ts';
import { type PublicCall, publicCalls } from './public-calls.ts';

/** Makes a public call with an options object. Everything else about the call is right. */
type CallWith = (options: never) => unknown;

const devices = ['cpu:0', 'cpu:1'];
const perReplica = () => new core.PerReplica(devices.map((device) => core.tensor([1, 2], { device })));
const pairs = () => [[perReplica(), devices] as const];
const sum = { kind: 'all-reduce', op: 'sum' } as const;
const tensors = () => devices.map(() => core.tensor([1, 2]));
const mirrored = () => new strategy.MirroredStrategy({ devices, engine: 'js' });
const cluster = () => new strategy.ClusterSpec({ worker: ['one:1', 'two:2'] });
const resolver = () => new strategy.SimpleClusterResolver(cluster());
const portable = () => new internal.ReferenceCommunicator({ size: 2, algorithm: ringAlgorithm() });
const one = () => core.jsEngine.communicator(1, ringAlgorithm());
const threadOf = () => core.jsEngine.createGroup({ size: 1 });
const thread = () => core.jsEngine.join(threadOf(), { rank: 0, algorithm: ringAlgorithm() });
/** A call of the table of public calls, with a different last argument. */
function withLast(name: string): CallWith {
  const { call, example } = publicCalls.find((one) => one.name === name) as Required<PublicCall>;
  return (options) => call([...(example?.() ?? []).slice(0, -1), options]);
}

/** Calls of the table of public calls, by their names without the package. */
function named(...names: readonly string[]): Record<string, Record<string, CallWith>> {
  return Object.fromEntries(names.map((name) => [name.split(': ')[1], { call: withLast(name) }]));
}

const inReplica =
  (call: (replica: strategy.ReplicaContext, options: never) => unknown): CallWith =>
  (options) =>
    mirrored().run((replica) => call(replica, options) as Promise<unknown>);
const value = new Float32Array(2);

/** Ops of a class that users can extend. */
class OwnOps extends core.AllReduceOps {
  readonly name = 'own';
}

const communicators: Readonly<Record<string, () => core.Communicator>> = {
  portable,
  wasm: () => core.wasmEngine.communicator(2, ringAlgorithm()),
  hierarchical: () => core.hierarchical([one(), one()], portable()),
  'of ops': () => core.communicatorOf(new RingAllReduce(), devices),
};

/** For each owner of options, all public calls that accept them. */
const calls: Readonly<Record<string, Readonly<Record<string, CallWith>>>> = {
  AllReduceOps: { new: (options) => new OwnOps(options) },
  rankOfWorker: { call: (options) => internal.rankOfWorker(one(), options) },
  hierarchical: { call: (options) => core.hierarchical([one(), one()], portable(), options) },
  ReferenceCommunicator: { new: (options) => new internal.ReferenceCommunicator(options) },
  tensor: { call: (options) => core.tensor([1], options) },
  regroup: { call: (options) => core.regroup([1, 2], options) },
  cost: { call: (options) => cost(ringAlgorithm().plan(sum, 2), options) },
  'cost: workers': {
    call: (workers) => cost(ringAlgorithm().plan(sum, 2), { bytes: 1, gamma: 0, alpha: 1, beta: 1, workers }),
  },
  DeviceSpec: { new: (fields) => new core.DeviceSpec(fields) },
  createGroup: {
    js: (options) => core.jsEngine.createGroup(options),
    wasm: (options) => core.wasmEngine.createGroup(options),
    function: (options) => plugin.createThreadGroup(options),
  },
  join: {
    js: (request) => core.jsEngine.join(threadOf(), request),
    wasm: (request) => core.wasmEngine.join(core.wasmEngine.createGroup({ size: 1 }), request),
    new: (request) => new internal.ThreadCommunicator(threadOf(), request),
  },
  CommunicationOptions: {
    new: (fields) => new core.CommunicationOptions(fields),
    merge: (fields) => new core.CommunicationOptions().merge(fields),
    MultiWorkerMirroredStrategy: (communicationOptions) =>
      new strategy.MultiWorkerMirroredStrategy({ clusterResolver: resolver(), communicationOptions }),
  },
  CollectiveHints: { new: (fields) => new core.CollectiveHints(fields) },
  'plug-in by name': {
    resolve: (request) => core.registry.resolve(Object.assign({ name: 'ring' }, request)),
    create: (request) => core.registry.create(Object.assign({ name: 'ring' }, request)),
  },
  situation: {
    resolve: (situation) => core.registry.resolve('auto', situation),
    explain: (situation) => core.registry.explain('auto', situation),
  },
  'options of a collective': {
    resolveCallOptions: (options) => internal.resolveCallOptions(options),
    'ops.reduce': (options) => new RingAllReduce().reduce('SUM', perReplica(), devices, options),
    'ops.batchReduce': (options) => new RingAllReduce().batchReduce('SUM', pairs(), options),
    'ops.gather': (options) => new RingAllReduce().gather(perReplica(), devices, 0, options),
    'ops.allReduce': (options) =>
      new RingAllReduce({}, plugin.portableWorld(devices)).allReduce('SUM', value, 0, options),
    'ops.allReduceSync of a thread': (options) =>
      new RingAllReduce({}, plugin.threadWorld(threadOf(), 0, ['cpu:0'])).allReduceSync('SUM', value, 0, options),
    'ops of CollectiveAllReduce': (options) =>
      new multiWorker.CollectiveAllReduce(devices).reduce('SUM', perReplica(), devices, options),
    'ops of MultiWorkerAllReduce': (options) =>
      new multiWorker.MultiWorkerAllReduce().reduce('SUM', perReplica(), devices, options),
    'ops of AllReduceCrossDeviceOps': (options) =>
      new AllReduceCrossDeviceOps({ allReduceAlg: 'ring' }).reduce('SUM', perReplica(), devices, options),
    'strategy.reduce': (options) => mirrored().reduce('SUM', perReplica(), null, options),
    'strategy.extended.reduceTo': (options) => mirrored().extended.reduceTo('SUM', perReplica(), devices, options),
    'strategy.extended.reduceTo of what is mirrored': (options) =>
      mirrored().extended.reduceTo('MEAN', new core.Mirrored(tensors()), devices, options),
    'strategy.extended.batchReduceTo': (options) => mirrored().extended.batchReduceTo('SUM', pairs(), options),
    'strategy.extended.gatherTo': (options) => mirrored().extended.gatherTo(perReplica(), devices, 0, options),
    'default strategy.extended.reduceTo': (options) =>
      strategy.getStrategy().extended.reduceTo('SUM', 1, devices, options),
    'default strategy.extended.batchReduceTo': (options) =>
      strategy.getStrategy().extended.batchReduceTo('SUM', [], options),
    'default strategy.extended.gatherTo': (options) =>
      strategy.getStrategy().extended.gatherTo(value, devices, 0, options),
    'default replica.allReduce': (options) => strategy.getReplicaContext()?.allReduce('SUM', value, options),
    'default replica.allReduceSync': (options) => strategy.getReplicaContext()?.allReduceSync('SUM', value, options),
    'default replica.allGather': (options) => strategy.getReplicaContext()?.allGather(value, 0, options),
    'default replica.allGatherSync': (options) => strategy.getReplicaContext()?.allGatherSync(value, 0, options),
    'default replica.broadcast': (options) => strategy.getReplicaContext()?.broadcast(value, 0, options),
    'default replica.broadcastSync': (options) => strategy.getReplicaContext()?.broadcastSync(value, 0, options),
    'replica.allReduce': inReplica((replica, options) => replica.allReduce('SUM', value, options)),
    'replica.allReduce of promises': inReplica((replica, options) =>
      replica.allReduce('SUM', [Promise.resolve(value)], options),
    ),
    'replica.allGather': inReplica((replica, options) => replica.allGather(value, 0, options)),
    'replica.broadcast': inReplica((replica, options) => replica.broadcast(value, 0, options)),
  },
  'Communicator.run': {
    ...Object.fromEntries(
      Object.entries(communicators).flatMap(([name, make]): [string, CallWith][] => [
        [name, (options) => make().run(sum, tensors(), tensors(), options)],
        [`${name}, blocking`, (options) => make().runSync(sum, tensors(), tensors(), options)],
      ]),
    ),
    thread: (options) =>
      thread().run(
        sum,
        [value].map((data) => core.tensor(data)),
        [core.tensor([1, 2])],
        options,
      ),
  },
  DirectAllReduce: { new: (options) => new DirectAllReduce(options) },
  HierarchicalCopyAllReduce: { new: (options) => new HierarchicalCopyAllReduce(options) },
  AllReduceCrossDeviceOps: { new: (options) => new AllReduceCrossDeviceOps(options) },
  ReductionToOneDevice: { new: (options) => new ReductionToOneDevice(options) },
  reductionToOneAlgorithm: { call: (options) => reductionToOneAlgorithm(options) },
  RingAllReduce: {
    new: (options) => new RingAllReduce(options),
    'strategy by name': async (options) => {
      await using made = new strategy.MirroredStrategy({ devices, crossDeviceOps: { name: 'ring', options } });
      return made.reduce('SUM', perReplica(), null);
    },
  },
  ringAlgorithm: { call: (options) => ringAlgorithm(options) },
  hierarchicalAlgorithm: { call: (options) => multiWorker.hierarchicalAlgorithm(options) },
  shuffleAlgorithm: { call: (options) => multiWorker.shuffleAlgorithm(options) },
  CollectiveAllReduce: { new: (options) => new multiWorker.CollectiveAllReduce(devices, 2, options) },
  MultiWorkerAllReduce: { new: (options) => new multiWorker.MultiWorkerAllReduce(undefined, 1, options) },
  acrossWorkers: { call: (options) => multiWorker.acrossWorkers(() => new RingAllReduce(), options) },
  'multi-worker': { create: (options) => multiWorker.multiWorker.create(options) },
  collective: { create: (options) => multiWorker.collective.create(options) },
  openProcessGroup: { call: (options) => openProcessGroup(options) },
  configureNative: { call: (options) => configureNative(options) },
  openMpiGroup: { call: (options) => openMpiGroup(options) },
  openMembers: { call: (options) => core.openMembers(options) },
  joinThreadGroup: { call: (options) => core.joinThreadGroup(threadOf(), options) },
  ...memberCalls,
  FileStore: { new: (options) => new rendezvous.FileStore(options) },
  EtcdStore: { new: (options) => new rendezvous.EtcdStore(options) },
  MemoryStore: { new: (options) => new rendezvous.MemoryStore(options) },
  RedisStore: { connect: (options) => rendezvous.RedisStore.connect(options) },
  TcpStore: { connect: (options) => rendezvous.TcpStore.connect(options) },
  TcpStoreServer: { listen: (options) => rendezvous.TcpStoreServer.listen(options) },
  StoreRendezvous: { new: (options) => new rendezvous.StoreRendezvous(new rendezvous.MemoryStore(), options) },
  joinGroup: { call: (options) => rendezvous.joinGroup(new rendezvous.MemoryStore(), options) },
  'options of a wait': {
    get: (options) => new rendezvous.MemoryStore().get('key', options),
    storeFromEnvironment: (options) => rendezvous.storeFromEnvironment({}, options),
  },
  selectPlugin: {
    call: (options) => strategy.selectPlugin(devices, options),
    selectCrossDeviceOps: (options) => strategy.selectCrossDeviceOps(devices, options),
    chooseTheBest: (options) => strategy.chooseTheBest(devices, options),
  },
  MirroredStrategy: { new: (options) => new strategy.MirroredStrategy(options) },
  MultiWorkerMirroredStrategy: { new: (options) => new strategy.MultiWorkerMirroredStrategy(options) },
  ExperimentalMultiWorkerMirroredStrategy: {
    new: (options) => new strategy.ExperimentalMultiWorkerMirroredStrategy(options),
  },
  run: {
    MirroredStrategy: (options) => mirrored().run(() => 1, options),
    'MirroredStrategy with a module': (options) => mirrored().run(new URL('data:text/javascript,'), options),
    experimentalRunV2: (options) => mirrored().experimentalRunV2(() => 1, options),
    callForEachReplica: (options) => mirrored().extended.callForEachReplica(() => 1, options),
    'default strategy': (options) => strategy.getStrategy().run(() => 1, options),
    MultiWorkerMirroredStrategy: (options) =>
      new strategy.MultiWorkerMirroredStrategy({
        clusterResolver: new strategy.SimpleClusterResolver(new strategy.ClusterSpec({})),
        devices,
      }).run(() => 1, options),
  },
  batchSizesForWorker: { call: (options) => strategy.batchSizesForWorker(options) },
  ValueContext: { new: (init) => new strategy.ValueContext(init) },
  InputContext: { new: (init) => new strategy.InputContext(init) },
  InputOptions: {
    new: (init) => new strategy.InputOptions(init),
    experimentalDistributeDataset: (init) => mirrored().experimentalDistributeDataset([value], init),
    distributeDatasetsFromFunction: (init) => mirrored().distributeDatasetsFromFunction(() => [value], init),
    shardForReplica: withLast('strategy: shardForReplica'),
    'default strategy.experimentalDistributeDataset': (init) =>
      strategy.getStrategy().experimentalDistributeDataset([value], init),
    'default strategy.distributeDatasetsFromFunction': (init) =>
      strategy.getStrategy().distributeDatasetsFromFunction(() => [value], init),
  },
  variable: {
    call: (options) => strategy.variable(1, options),
    'in a scope': (options) => mirrored().scope(() => strategy.variable(1, options)),
  },
  update: {
    MirroredStrategy: (options) => {
      const own = mirrored();
      return own.extended.update(
        own.scope(() => strategy.variable(1)),
        () => 1,
        options,
      );
    },
    'default strategy': (options) => strategy.getStrategy().extended.update(strategy.variable(1), () => 1, options),
  },
  'options of a task': { master: (options) => resolver().master(options) },
  KubernetesClusterResolver: { create: (options) => strategy.KubernetesClusterResolver.create(options) },
  UnionResolver: { new: (options) => new strategy.UnionResolver([resolver()], options) },
  EnvironmentClusterResolver: { new: (options) => new strategy.EnvironmentClusterResolver(options) },
  TFConfigClusterResolver: { new: (options) => new strategy.TFConfigClusterResolver(options) },
  SlurmClusterResolver: { new: (options) => new strategy.SlurmClusterResolver(options) },
  SimpleClusterResolver: { new: (options) => new strategy.SimpleClusterResolver(cluster(), options) },
  executorSuite: { call: (options) => testing.executorSuite(options) },
  memberSuite: { call: (options) => testing.memberSuite(options) },
  algorithmSuite: { call: (options) => testing.algorithmSuite(options) },
  crossDeviceOpsSuite: { call: (options) => testing.crossDeviceOpsSuite(options) },
  processRanks: { call: (options) => testing.processRanks(options) },
  launchedRanks: { call: (options) => testing.launchedRanks(options) },
  threadRanks: { call: (options) => testing.threadRanks(options) },
  TestGroup: { new: (options) => new testing.TestGroup(options) },
  'TestGroup.run': { call: (options) => new testing.TestGroup({ members: [] }).run(sum, [], [], options) },
  reduceGradients: { call: withLast('tfjs: reduceGradients'), blocking: withLast('tfjs: reduceGradientsSync') },
  saveCheckpoint: { tfjs: withLast('tfjs: saveCheckpoint'), 'jax-js': withLast('jax-js: saveCheckpoint') },
  'checkpointCallback: every': { call: (every) => withLast('tfjs: checkpointCallback')({ every } as never) },
  ...named('opentelemetry: instrument', 'opentelemetry: serveMetrics', 'jax-js: batches', 'jax-js: dataParallel'),
  ...named('tfjs: distributedCallbacks', 'tfjs: shareOf', 'tfjs: distributedOptimizer', 'tfjs: trainingState'),
  ...named('tfjs: restoreCheckpoint', 'tfjs: checkpointCallback'),
  // The methods check options first, so they need no GPU.
  fromPointer: { call: (memory) => Gpu.prototype.fromPointer(memory) },
  split: { call: (options) => NcclCommunicator.prototype.split([], [], options) },
  NcclCommunicator: {
    open: (options) => NcclCommunicator.open(['gpu:0'], options),
    connect: (options) => NcclCommunicator.connect({ store: new rendezvous.MemoryStore(), rank: 0, size: 1 }, options),
    joinBy: (options) => NcclCommunicator.joinBy(async () => [], 0, ['gpu:0'], options),
  },
  'NcclCommunicator.connect': { call: (request) => NcclCommunicator.connect(request) },
  probe: { call: (options) => probe(options) },
  NcclAllReduce: { new: (options) => new NcclAllReduce(options) },
};

const root = path.resolve(import.meta.dirname, '../..');
const foldersIn = (parent: string) =>
  readdirSync(parent, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
const sources = ['packages', 'native'].flatMap((parent) =>
  foldersIn(path.join(root, parent)).flatMap((folder) => {
    const source = path.join(root, parent, folder, 'src');
    return readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(file))
      .map((file) => ({ isIndex: file === 'index.ts', text: readFileSync(path.join(source, file), 'utf8') }));
  }),
);

/** The names of all options by their owner, from the sources. */
const known = new Map(
  sources.flatMap(({ text }) =>
    [...text.matchAll(/knownOptions<([^(]+)>\(\s*'([^']+)',\s*\{([^}]*)\}/g)].map(
      ([, type, owner, names]) =>
        [
          owner as string,
          {
            type: type as string,
            names: [...(names as string).matchAll(/(\w+): true/g)].map(([, name]) => name as string),
          },
        ] as const,
    ),
  ),
);

/** A name in the style of Python, in capitals, and with an additional letter. */
const slipsOf = (name: string) =>
  new Set([
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    name.toUpperCase(),
    `${name}${name.at(-1)}`,
  ]);

async function messageOf(call: CallWith, options: object): Promise<string> {
  try {
    const result = call(options as never);
    // The promises that an all-reduce of promises returns reject like the call.
    await (Array.isArray(result) ? Promise.all(result) : result);
  } catch (error) {
    return `${(error as Error).name} ${(error as core.CollError).code}: ${(error as Error).message}`;
  }
  return 'the call did not fail';
}

beforeAll(() => {
  core.setLogSink(() => {});
  core.registry.register(
    core.definePlugin({ name: 'ring', module: 'ring', create: (options) => new RingAllReduce(options) }),
  );
});
afterAll(() => core.setLogSink());

describe('options of the public API', () => {
  it('are tested for every call that accepts options', () => {
    expect(Object.keys(calls).toSorted()).toEqual([...known.keys()].toSorted());
  });

  it('are tested for every exported type of options', () => {
    const listed = [...known.values()].map(({ type }) => type).join(' ');
    const exported = sources
      .filter(({ isIndex }) => isIndex)
      .flatMap(({ text }) => [...text.matchAll(/type (\w+(?:Options|Init))\b/g)].map(([, name]) => name as string));
    // These are parts of other options, the two forms of a call's options, and options that only our own classes pass
    // to each other.
    const calls = 'AllReduceOptions CallOptions PackingOptions ReplicaCallOptions ReduceOptions BatchReduceOptions';
    const ours = 'ResolvedOptions JobOptions TransportOptions JoinOptions RendezvousOptions ReplicaGroupOptions';
    const others = `${calls} ${ours}`.split(' ');
    expect(exported.filter((name) => !others.includes(name) && !new RegExp(`\\b${name}\\b`).test(listed))).toEqual([]);
  });
});

describe.each(Object.keys(calls))('%s', (owner) => {
  const { names } = known.get(owner) ?? { names: [] };

  it.each(Object.keys(calls[owner] ?? {}))('refuses unknown options, and suggests a similar one (%s)', async (way) => {
    const call = calls[owner]?.[way] as CallWith;
    expect(names).not.toEqual([]);
    for (const name of names) {
      for (const slip of [...slipsOf(name)].filter((text) => text !== name)) {
        const message = await messageOf(call, { [slip]: undefined });
        expect(message).toContain(`ValueError ERR_COLL_VALUE: `);
        expect(message).toContain(`${owner}: unknown option "${slip}"; did you mean ${name}?`);
      }
    }
  });
});

describe('positional arguments instead of options', () => {
  it.each<[string, () => unknown, string]>([
    ['run', () => mirrored().run(() => 1, [5] as never), 'run: pass the arguments by name, { args: [5] }'],
    ['MirroredStrategy', () => new strategy.MirroredStrategy(devices as never), 'must be an object, new Mirrored'],
    [
      'MultiWorkerMirroredStrategy',
      () => new strategy.MultiWorkerMirroredStrategy(resolver() as never),
      'the argument must be one object, { clusterResolver, communicationOptions }',
    ],
    ['RingAllReduce', () => new RingAllReduce(2 as never), 'must be an object, new RingAllReduce({ numPacks: 2 })'],
    ['reduce', () => new RingAllReduce().reduce('SUM', perReplica(), devices, 5 as never), 'options must be'],
    ['update', () => strategy.getStrategy().extended.update(1, () => 1, [1] as never), '{ args: [delta] }'],
  ])('make %s throw an error that shows how to pass options', async (_, call, advice) => {
    expect(await messageOf(call, {})).toContain(advice);
  });
});

describe('the option `into`', () => {
  it.each<[string, CallWith]>([
    ['gather', (options) => new RingAllReduce().gather(perReplica(), devices, 0, options)],
    ['allGather', inReplica((replica, options) => replica.allGather(value, 0, options))],
    ['allGather of the default replica', (options) => strategy.getReplicaContext()?.allGather(value, 0, options)],
    ['strategy.reduce', (options) => mirrored().reduce('SUM', perReplica(), null, options)],
  ])('is refused by %s, which does not write to memory of the caller', async (_, call) => {
    expect(await messageOf(call, { into: value })).toContain('options of a collective: unknown option "into"');
  });
});
