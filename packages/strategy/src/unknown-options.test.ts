import { expect, it } from 'vitest';
import { strategyOf } from '../test/strategies.js';
import { taskOptions } from './cluster/cluster-resolver.js';
import {
  batchSizesForWorker,
  ClusterSpec,
  EnvironmentClusterResolver,
  ExperimentalMultiWorkerMirroredStrategy,
  getStrategy,
  InputContext,
  InputOptions,
  KubernetesClusterResolver,
  MirroredStrategy,
  MultiWorkerMirroredStrategy,
  SimpleClusterResolver,
  SlurmClusterResolver,
  selectPlugin,
  TFConfigClusterResolver,
  UnionResolver,
  ValueContext,
} from './index.js';
import { argumentsOf } from './scope/run-options.js';

const two = strategyOf(2);
const variable = two.extended.createVariable(1);
const task = ['taskType', 'taskId', 'rpcLayer'];
const ofVariable = ['name', 'trainable', 'synchronization', 'aggregation', 'dtype'];
const ofWorkers = [
  'devices',
  'crossDeviceOps',
  'registry',
  'engine',
  'startupTimeoutSeconds',
  'group',
  'job',
  'jobKey',
  'generation',
  'host',
].concat(...['encrypt', 'insecure', 'transport', 'streams', 'heartbeatSeconds', 'checkResults']);

it.each<[owner: string, take: (options: never) => unknown, names: readonly string[]]>([
  ['options of a task', (options) => taskOptions(options), task],
  [
    'EnvironmentClusterResolver',
    (options) => new EnvironmentClusterResolver(options),
    ['variables', 'statefulSetService'],
  ],
  [
    'KubernetesClusterResolver',
    (options) => KubernetesClusterResolver.create(options),
    [...task, 'jobToLabelMapping', 'serverPort', 'address', 'client'],
  ],
  [
    'SimpleClusterResolver',
    (options) => new SimpleClusterResolver(new ClusterSpec(), options),
    [...task, 'master', 'environment', 'numAccelerators'],
  ],
  [
    'SlurmClusterResolver',
    (options) => new SlurmClusterResolver(options),
    ['jobs', 'portBase', 'gpusPerNode', 'gpusPerTask', 'tasksPerNode', 'autoSetGpu', 'rpcLayer', 'variables'],
  ],
  [
    'TFConfigClusterResolver',
    (options) => new TFConfigClusterResolver(options),
    [...task, 'environment', 'variables', 'devices'],
  ],
  ['UnionResolver', (options) => new UnionResolver([new TFConfigClusterResolver()], options), task],
  [
    'batchSizesForWorker',
    (options) => batchSizesForWorker(options),
    ['numWorkers', 'workerIndex', 'replicasPerWorker', 'globalBatchSize'],
  ],
  [
    'InputContext',
    (options) => new InputContext(options),
    ['numInputPipelines', 'inputPipelineId', 'numReplicasInSync'],
  ],
  ['ValueContext', (options) => new ValueContext(options), ['replicaIdInSyncGroup', 'numReplicasInSync']],
  [
    'InputOptions',
    (options) => new InputOptions(options),
    [
      ...['experimentalFetchToDevice', 'experimentalReplicationMode', 'experimentalPlaceDatasetOnDevice'],
      ...['experimentalPerReplicaBufferSize', 'globalBatchSize', 'autoShardPolicy', 'equalSteps'],
    ],
  ],
  [
    'run',
    (options) => argumentsOf(options),
    [
      ...['args', 'kwargs', 'exportName', 'onReport', 'signal', 'threads', 'transfer'],
      ...['experimentalEnableDynamicBatchSize', 'experimentalBucketizingDynamicShape', 'experimentalXlaOptions'],
    ],
  ],
  ['variable', (options) => two.extended.createVariable(1, options), ofVariable],
  ['variable', (options) => getStrategy().extended.createVariable(1, options), ofVariable],
  ['update', (options) => two.extended.update(variable, () => 1, options), ['args', 'kwargs', 'group']],
  [
    'MirroredStrategy',
    (options) => new MirroredStrategy(options),
    ['devices', 'crossDeviceOps', 'engine', 'registry', 'checkResults'],
  ],
  [
    'MultiWorkerMirroredStrategy',
    (options) => new MultiWorkerMirroredStrategy(options),
    ['clusterResolver', 'communicationOptions', ...ofWorkers],
  ],
  [
    'ExperimentalMultiWorkerMirroredStrategy',
    (options) => new ExperimentalMultiWorkerMirroredStrategy(options),
    ['clusterResolver', 'communication', ...ofWorkers],
  ],
  ['selectPlugin', (options) => selectPlugin(['gpu:0'], options), ['visibleDevices', 'physicalGpus', 'registry']],
])('%s refuses an unknown option, and lists the known options', async (owner, take, names) => {
  const message = `${owner}: unknown option "zzz"; known options: ${names.join(', ')}`;
  const taking = (async () => take({ zzz: 1 } as never))();
  await expect(taking).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE', message });
});

it.each<[example: string, take: (options: never) => unknown]>([
  ["{ taskType: 'worker', taskId: 0 }", (options) => taskOptions(options)],
  ['{ statefulSetService }', (options) => new EnvironmentClusterResolver(options)],
  ["{ taskType: 'worker', taskId: 0 }", (options) => KubernetesClusterResolver.create(options)],
  ["{ taskType: 'worker', taskId: 0 }", (options) => new SimpleClusterResolver(new ClusterSpec(), options)],
  ['{ portBase: 8888 }', (options) => new SlurmClusterResolver(options)],
  ["{ taskType: 'worker', taskId: 0 }", (options) => new TFConfigClusterResolver(options)],
  ["{ taskType: 'worker', taskId: 0 }", (options) => new UnionResolver([new TFConfigClusterResolver()], options)],
  [
    '{ globalBatchSize: 64, numWorkers: 2, workerIndex: 0, replicasPerWorker: 1 }',
    (options) => batchSizesForWorker(options),
  ],
  ['{ numReplicasInSync: 2 }', (options) => new InputContext(options)],
  ['{ numReplicasInSync: 2 }', (options) => new ValueContext(options)],
  ['{ globalBatchSize: 64 }', (options) => new InputOptions(options)],
  ['{ args: [first, second] }', (options) => argumentsOf(options)],
  ["{ name: 'weights' }", (options) => two.extended.createVariable(1, options)],
  ["{ name: 'weights' }", (options) => getStrategy().extended.createVariable(1, options)],
  ['{ args: [delta] }', (options) => two.extended.update(variable, () => 1, options)],
  ['{ registry }', (options) => selectPlugin(['gpu:0'], options)],
  ["{ communication: 'RING' }", (options) => new ExperimentalMultiWorkerMirroredStrategy(options)],
])('the error shows the example %s when a caller passes a string as options', async (example, take) => {
  const message = `options must be an object, ${example}, got "text"`;
  const taking = (async () => take('text' as never))();
  await expect(taking).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE', message });
});
