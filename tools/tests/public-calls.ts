import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as forUsers from '@coll/core';
import * as forAuthors from '@coll/core/plugin';
import * as direct from '@coll/direct';
import * as hierarchicalCopy from '@coll/hierarchical-copy';
import * as jaxJs from '@coll/jax-js';
import * as jaxJsOnNode from '@coll/jax-js/node';
import * as multiWorker from '@coll/multi-worker';
import * as opentelemetry from '@coll/opentelemetry';
import * as reductionToOne from '@coll/reduction-to-one';
import * as ring from '@coll/ring';
import * as strategy from '@coll/strategy';
import * as tfjs from '@coll/tfjs';
import * as tfjsOnNode from '@coll/tfjs/node';
import * as tfjsInPages from '@coll/tfjs/page';
import { numpy as np } from '@jax-js/jax';

/** A public function, constructor or method. */
export interface PublicCall {
  /** The folder of its package. */
  readonly folder: string;
  /** `package: name`, or `package: Class.method`. */
  readonly name: string;
  /** The number of parameters without defaults. */
  readonly parameters: number;
  /** Valid arguments. Undefined if any will do. */
  readonly example?: (() => readonly unknown[]) | undefined;
  readonly call: (args: readonly unknown[]) => unknown;
}

type NamedCall = Pick<PublicCall, 'name' | 'parameters' | 'call'>;
type Exports = Readonly<Record<string, unknown>>;

const core = { ...forUsers, ...forAuthors };

const packages: Readonly<Record<string, Exports>> = {
  core,
  direct,
  'hierarchical-copy': hierarchicalCopy,
  'jax-js': { ...jaxJs, ...jaxJsOnNode },
  'multi-worker': multiWorker,
  opentelemetry,
  'reduction-to-one': reductionToOne,
  ring,
  strategy,
  tfjs: { ...tfjs, ...tfjsInPages, ...tfjsOnNode },
};

const devices = ['cpu:0', 'cpu:1'];
const onDevice = (device: string) => core.tensor(new Float32Array([1, 2, 3, 4]), { shape: [2, 2], device });
const tensors = () => devices.map(onDevice);
const perReplica = () => new core.PerReplica(tensors());
const slices = () => new core.IndexedSlices(core.tensor([1, 2], { shape: [2, 1] }), new Int32Array([0, 1]), [3, 1]);
const cluster = () => new strategy.ClusterSpec({ worker: ['one:1', 'two:2'] });
const task = () => ({ taskType: 'worker', taskId: 1 });
const mirrored = () => new strategy.MirroredStrategy({ devices: [...devices], engine: 'js' });
const dataset = () => [new Float32Array(4), new Float32Array(4)];
const variableOf = (options = {}) => mirrored().scope(() => strategy.variable([1, 2], options));

/** A TensorFlow.js variable, with only the fields that are read before replicas exchange data. */
const weight = () => ({
  dtype: 'float32',
  shape: [2],
  dataSync: () => new Float32Array(2),
  name: 'w',
  trainable: true,
});
const tf = () => ({ engine: () => ({ registeredVariables: { w: weight() } }), tensor: () => weight() });
const model = () => ({ weights: [{ read: weight }], save: async () => {} });
const state = () => tfjs.trainingState(tf() as never, { model: model() as never });

/** Makers of objects with public methods, by the package of their class. */
const instances: Readonly<Record<string, () => object>> = {
  'core: CommunicationOptions': () => new core.CommunicationOptions(),
  'core: ConcatAndSplitPacker': () => new core.ConcatAndSplitPacker(2),
  'core: AggregateSmallTensorPacker': () => new core.AggregateSmallTensorPacker(),
  'core: DeviceSpec': () => core.DeviceSpec.fromString('/job:worker/task:1/cpu:0'),
  'core: IndexedSlices': slices,
  'core: Mirrored': () => new core.Mirrored(tensors()),
  'core: PerReplica': perReplica,
  'core: Communicator': () => core.jsEngine.communicator(2, ring.ringAlgorithm()),
  'core: Registry': () => core.createRegistry(),
  'core: World': () => core.portableWorld(devices),
  'direct: DirectAllReduce': () => new direct.DirectAllReduce(),
  'hierarchical-copy: HierarchicalCopyAllReduce': () => new hierarchicalCopy.HierarchicalCopyAllReduce(),
  'multi-worker: CollectiveAllReduce': () => new multiWorker.CollectiveAllReduce(devices),
  'multi-worker: CollectiveKeys': () => new multiWorker.CollectiveKeys(),
  'multi-worker: MultiWorkerAllReduce': () =>
    new multiWorker.MultiWorkerAllReduce(['/job:worker/task:0', '/job:worker/task:1'], 1),
  'reduction-to-one: ReductionToOneDevice': () => new reductionToOne.ReductionToOneDevice(),
  'ring: RingAllReduce': () => new ring.RingAllReduce(),
  'ring: RingAllReduce of a world': () => new ring.RingAllReduce({}, core.portableWorld(devices)),
  'strategy: ClusterSpec': cluster,
  'strategy: SimpleClusterResolver': () => new strategy.SimpleClusterResolver(cluster()),
  'strategy: TFConfigClusterResolver': () => new strategy.TFConfigClusterResolver(),
  'strategy: UnionResolver': () => new strategy.UnionResolver([new strategy.SimpleClusterResolver(cluster())]),
  'strategy: InputContext': () => new strategy.InputContext({ numReplicasInSync: 2 }),
  'strategy: InputOptions': () => new strategy.InputOptions(),
  'strategy: ValueContext': () => new strategy.ValueContext({ numReplicasInSync: 2 }),
  'strategy: MirroredStrategy': mirrored,
  'strategy: MirroredStrategy.extended': () => mirrored().extended,
  'strategy: default strategy': () => strategy.getStrategy(),
  'strategy: default strategy.extended': () => strategy.getStrategy().extended,
  'strategy: default replica': () => strategy.getReplicaContext() as object,
  'strategy: LocalVariable': () => strategy.variable([1, 2]),
  'strategy: MirroredVariable': () => variableOf(),
  'strategy: SyncOnReadVariable': () => variableOf({ synchronization: 'ON_READ', aggregation: 'SUM' }),
};

const reduced = () => ['SUM', perReplica(), [...devices], { timeoutSeconds: 1 }];
const crossDeviceOps = (name: string): Record<string, () => readonly unknown[]> => ({
  [`${name}.reduce`]: reduced,
  [`${name}.batchReduce`]: () => ['SUM', [[perReplica(), [...devices]]], { bytesPerPack: 8 }],
  [`${name}.broadcast`]: () => [onDevice('cpu:0'), [...devices]],
  [`${name}.gather`]: () => [perReplica(), [...devices], 0],
});
const changes = (name: string): Record<string, () => readonly unknown[]> => ({
  [`${name}.assign`]: () => [[1, 2]],
  [`${name}.assignAddSync`]: () => [[1, 2]],
  [`${name}.scatterAdd`]: () => [new core.IndexedSlices(new Float64Array(1), new Int32Array(1))],
});

/** Valid arguments of calls whose checks follow one another. */
const examples: Readonly<Record<string, () => readonly unknown[]>> = {
  'core: addN': () => [tensors()],
  'core: aggregateTensorsOrIndexedSlices': () => [[slices(), slices()], core.addN],
  'core: combine': () => ['sum', tensors()],
  'core: concatAlong': () => [tensors(), 0],
  'core: concatenateSlices': () => [[slices(), slices()]],
  'core: divide': () => [onDevice('cpu:0'), 2],
  'core: groupBySize': () => [tensors(), 8],
  'core: new IndexedSlices': () => [core.tensor([1, 2], { shape: [2, 1] }), new Int32Array([0, 1]), [3, 1]],
  'core: regroup': () => [[{ a: 1 }, { a: 2 }], { alwaysWrap: true }],
  'core: stitchValues': () => [
    [
      [
        [1, 2],
        [0, 1],
      ],
    ],
  ],
  'core: tensor': () => [new Float32Array(4), { dtype: 'float32', shape: [4], device: 'cpu:0' }],
  'core: viewOf': () => ['float32', new ArrayBuffer(8), 0, 2],
  'core: ConcatAndSplitPacker.pack': () => [[tensors(), tensors()]],
  'core: AggregateSmallTensorPacker.pack': () => [[tensors(), tensors()]],
  'core: Communicator.runSync': () => [{ kind: 'all-reduce', op: 'sum' }, tensors(), tensors(), {}],
  'core: Registry.create': () => ['ring', {}, core.portableWorld(devices)],
  'core: Registry.register': () => [{ name: 'other', apiVersion: 1, module: 'other', priority: 1, create: () => 1 }],
  ...Object.fromEntries(
    ['pmean', 'psum', 'pmax', 'pmin', 'allGather', 'axisIndex', 'axisSize'].map((name) => [
      `jax-js: ${name}`,
      () => [strategy.getReplicaContext(), { w: np.ones([2]) }],
    ]),
  ),
  'opentelemetry: instrument': () => [{}],
  'opentelemetry: serveMetrics': () => [{ port: 0 }],
  'jax-js: broadcast': () => [strategy.getReplicaContext(), { w: np.ones([2]) }, 0],
  'jax-js: batches': () => [strategy.getReplicaContext(), [new Float32Array(4)], { batchSize: 2, seed: 1 }],
  'jax-js: dataParallel': () => [strategy.getReplicaContext(), () => [np.ones([]), {}], { samples: 4 }],
  'jax-js: saveCheckpoint': () => [strategy.getReplicaContext(), '/no/such/folder', { epoch: 1 }, { keep: 1 }],
  'jax-js: restoreCheckpoint': () => [strategy.getReplicaContext(), 'no-such-folder', { epoch: 1 }],
  'multi-worker: new MultiWorkerAllReduce': () => [
    ['/job:worker/task:0'],
    2,
    { allReduceSpec: [['xring', 2, -1]], numPacks: 1 },
    core.portableWorld(devices),
  ],
  'multi-worker: new CollectiveAllReduce': () => [[...devices], 2, { timeoutSeconds: 1 }, core.portableWorld(devices)],
  'multi-worker: buildRingAllReduce': () => [tensors(), 1, 1, [0, 1], 'sum', (result: unknown) => result],
  'multi-worker: buildShuffleAllReduce': () => [tensors(), ['cpu:0'], 'sum'],
  'multi-worker: buildShuffleThenRing': () => [tensors(), ['cpu:0'], 1, 'sum'],
  'multi-worker: hierarchicalAlgorithm': () => [
    { workers: 2, within: ring.ringAlgorithm(), across: ring.ringAlgorithm() },
  ],
  'multi-worker: parseSpec': () => [
    [
      ['xring', 2, 8],
      ['pscpu', 1, -1],
    ],
  ],
  'multi-worker: specAlgorithm': () => [{ alg: 'xring', shards: 1 }, { workers: 2, gpusPerWorker: 2 }, 0],
  'multi-worker: splitGradsBySize': () => [2, [tensors(), tensors()]],
  'ring: new RingAllReduce': () => [{ numPacks: 1, subChunks: 1, engine: 'js' }, core.portableWorld(devices)],
  'ring: ringAlgorithm': () => [{ subChunks: 1, workers: 2, order: [0, 1] }],
  'strategy: batchSizesForWorker': () => [{ globalBatchSize: 8, numWorkers: 2, workerIndex: 0, replicasPerWorker: 1 }],
  'strategy: new MirroredStrategy': () => [{ devices: [...devices], crossDeviceOps: 'ring', engine: 'js' }],
  'strategy: new MultiWorkerMirroredStrategy': () => [
    { clusterResolver: new strategy.SimpleClusterResolver(new strategy.ClusterSpec({})), devices },
  ],
  'strategy: new UnionResolver': () => [[new strategy.SimpleClusterResolver(cluster())], task()],
  'strategy: shardForReplica': () => [
    dataset(),
    { numReplicasInSync: 2, replicaIdInSyncGroup: 0, devices: ['cpu:0'] },
    { globalBatchSize: 4 },
  ],
  'strategy: variable': () => [[1, 2], { name: 'v', dtype: 'float32', synchronization: 'ON_READ', aggregation: 'SUM' }],
  ...Object.fromEntries(
    ['collectiveLeader', 'idInCluster', 'isChief', 'validateCluster', 'workerCount'].map((name) => [
      `strategy: ${name}`,
      () => [cluster(), task()],
    ]),
  ),
  'strategy: MirroredStrategy.run': () => [() => 1, { args: [perReplica(), 1], kwargs: { a: 1 } }],
  'strategy: MirroredStrategy.reduce': () => ['SUM', perReplica(), 0, { timeoutSeconds: 1 }],
  'strategy: MirroredStrategy.gather': () => [perReplica(), 0],
  'strategy: MirroredStrategy.experimentalDistributeDataset': () => [dataset(), { globalBatchSize: 4 }],
  'strategy: MirroredStrategy.distributeDatasetsFromFunction': () => [dataset, {}],
  'strategy: MirroredStrategy.extended.reduceTo': reduced,
  'strategy: MirroredStrategy.extended.batchReduceTo': () => ['SUM', [[perReplica(), [...devices]]], {}],
  'strategy: MirroredStrategy.extended.broadcastTo': () => [1, [...devices]],
  'tfjs: averageStatistics': () => [tf(), { weights: [{ read: weight }] }, strategy.getReplicaContext()],
  'tfjs: broadcastWeights': () => [tf(), [weight()], strategy.getReplicaContext(), 0],
  'tfjs: distributedCallbacks': () => [tf(), [{}], strategy.getReplicaContext(), { maxSeconds: 1 }],
  'tfjs: distributedOptimizer': () => [
    tf(),
    { computeGradients: () => {}, applyGradients: () => {} },
    strategy.getReplicaContext(),
    { timeoutSeconds: 1 },
  ],
  'tfjs: trainingState': () => [tf(), { model: model(), epoch: 1, step: 2, data: [3] }],
  'tfjs: checkpointHandler': () => ['no-such-folder'],
  'tfjs: checkpointCallback': () => ['no-such-folder', state(), strategy.getReplicaContext(), { every: { steps: 1 } }],
  'tfjs: saveCheckpoint': () => ['no-such-folder', state(), strategy.getReplicaContext(), { keep: 1 }],
  'tfjs: restoreCheckpoint': () => ['no-such-folder', state(), strategy.getReplicaContext(), { wholeEpochs: true }],
  'tfjs: exportCheckpoint': () => ['no-such-folder'],
  'tfjs: importCheckpoint': () => ['no-such-folder', []],
  'tfjs: metricsLog': () => ['/tmp/metrics.jsonl', strategy.getReplicaContext()],
  'tfjs: progressLine': () => [strategy.getReplicaContext()],
  'tfjs: reduceGradients': () => [tf(), { w: weight() }, strategy.getReplicaContext(), { variables: [weight()] }],
  'tfjs: reduceGradientsSync': () => [tf(), { w: weight() }, strategy.getReplicaContext(), { variables: [weight()] }],
  'tfjs: rowsOf': () => [tfjs.shareOf(tf() as never, [1, 2], strategy.getReplicaContext() as strategy.ReplicaContext)],
  'tfjs: shareOf': () => [tf(), [1, 2], strategy.getReplicaContext(), { remainder: 'drop' }],
  ...Object.assign(
    {},
    ...Object.keys(instances)
      .filter((name) => /AllReduce|ToOne/.test(name))
      .map(crossDeviceOps),
  ),
  ...Object.assign(
    {},
    ...Object.keys(instances)
      .filter((name) => name.endsWith('Variable'))
      .map(changes),
  ),
};

/** Makers of values that some call accepts. */
export const sensible: readonly (() => unknown)[] = [
  ...Object.values(instances),
  ...['sum', 'MEAN', 'cpu:0', '/job:worker/task:1/cpu:0', 'worker', 'float32', 'bool', 'ring', 'auto'].map(
    (text) => () => text,
  ),
  () => 1,
  () => 2,
  () => [0, 1],
  () => [...devices],
  () => new Float32Array([1, 2, 3, 4]),
  () => core.tensor(new BigInt64Array(2)),
  () => core.tensor(3),
  () => core.zeros('bool', [0]),
  tensors,
  () => ({ data: new Float32Array(2), device: 'cpu:0' }),
  () => ({ kind: 'all-reduce', op: 'sum' }),
  () => ({ kind: 'broadcast', root: 0 }),
  () => new AbortController().signal,
  () => ring.ringAlgorithm(),
  () => core.jsEngine,
  () => strategy.getReplicaContext(),
  task,
  tf,
];

/**
 * Calls that do not check their arguments: functions for authors of engines and cross-device ops, who pass
 * checked arguments, most of them per tensor or element; classes that a function or a strategy constructs;
 * and functions that take a label for messages.
 */
const trusting: ReadonlySet<string> = new Set([
  ...`abortedError allDevicesMatch busyError clashError closedError elementCount fromBfloat16 fromFloat16 logFirst lostBufferError lostRank mirror
    nameOf opOf operationOf outputDType outputLength reads refusedError rootOf stepsOf toBfloat16 toFloat16 validateBuffers variantOf
    viewOnDevice writes`
    .split(/\s+/)
    .map((name) => `core: ${name}`),
  ...`Variable MirroredVariable SyncOnReadVariable StrategyExtended KubernetesClusterResolver`
    .split(/\s+/)
    .map((name) => `strategy: new ${name}`),
]);

/**
 * Methods that public ones call with checked arguments: TypeScript's `protected` methods, methods of
 * algorithms and engines that executors call, and methods of ops that replica groups call.
 */
const guarded: ReadonlySet<string> = new Set([
  ...['plan', 'stream', 'refuses', 'variants'],
  ...['perform', 'performSync', 'withDefaults'],
  ...Object.keys(packages).flatMap((folder) =>
    protectedMethods(path.join(import.meta.dirname, '../../packages', folder, 'src')),
  ),
]);

function protectedMethods(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.flatMap((file) => {
    const text = readFileSync(path.join(folder, file), 'utf8');
    return [...text.matchAll(/^ {2}protected (?:(?:static|abstract|override|async) )*(\w+)[(<]/gm)].map(
      ([, name]) => name as string,
    );
  });
}

function isClass(value: unknown): value is new (...args: readonly unknown[]) => object {
  return typeof value === 'function' && Function.prototype.toString.call(value).startsWith('class');
}

function callsOf([folder, exports]: readonly [string, Exports]): NamedCall[] {
  return Object.entries(exports).flatMap(([key, value]): NamedCall[] => {
    const name = `${folder}: ${key}`;
    if (isClass(value)) {
      const statics = value.prototype instanceof Error ? [] : methodsOf(name, () => value);
      if (value.prototype instanceof Error) return [];
      return [
        { name: `${folder}: new ${key}`, parameters: value.length, call: (args) => new value(...args) },
        ...statics,
      ];
    }
    if (typeof value === 'function') return [{ name, parameters: value.length, call: (args) => value(...args) }];
    return typeof value === 'object' && value !== null ? methodsOf(name, () => value) : [];
  });
}

/** The methods of an object and of its classes. */
function methodsOf(name: string, make: () => object): NamedCall[] {
  const methods = new Map<string, number>();
  const builtIn: readonly unknown[] = [null, Object.prototype, Function.prototype, Array.prototype, Set.prototype];
  for (let owner = make(); !builtIn.includes(owner); owner = Object.getPrototypeOf(owner)) {
    for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      const isMethod = typeof value === 'function' && key !== 'constructor' && !isClass(value) && !guarded.has(key);
      if (isMethod && !methods.has(key)) methods.set(key, value.length);
    }
  }
  return [...methods].map(([key, parameters]) => ({
    name: `${name}.${key}`,
    parameters,
    call: (args) => {
      const object = make() as Record<string, (...args: readonly unknown[]) => unknown>;
      return object[key]?.(...args);
    },
  }));
}

/** All public calls that check their arguments: exported functions, constructors and methods. */
export const publicCalls: readonly PublicCall[] = [
  ...Object.entries(packages).flatMap(callsOf),
  ...Object.entries(instances).flatMap(([name, make]) => methodsOf(name, make)),
]
  .filter(({ name }) => !trusting.has(name))
  .map((call) => ({ ...call, folder: call.name.split(':')[0] as string, example: examples[call.name] }));

const unknownExamples = Object.keys(examples).filter((name) => !publicCalls.some((call) => call.name === name));
if (unknownExamples.length > 0) throw new Error(`examples of nothing: ${unknownExamples.join(', ')}`);
