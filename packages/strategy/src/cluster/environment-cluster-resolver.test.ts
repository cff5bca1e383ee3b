import { ValueError } from '@coll/core';
import { type Environment, launchers, type Membership, membershipFrom } from '@coll/rendezvous/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EnvironmentClusterResolver } from './environment-cluster-resolver.js';

const tfConfig = JSON.stringify({
  cluster: { chief: ['a:1'], worker: ['b:1', 'b:2', 'c:1'] },
  task: { type: 'worker', index: 1 },
});

// Variables as set by real launchers, without those that the resolver does not read.
const slurmStep: Environment = {
  SLURM_JOB_ID: '42',
  SLURM_STEP_ID: '0',
  SLURM_PROCID: '5',
  SLURM_NTASKS: '11',
  SLURM_STEP_NUM_TASKS: '11',
  SLURM_LOCALID: '1',
  SLURM_NODEID: '1',
  SLURM_STEP_NODELIST: 'gpu[001-003]',
  SLURM_STEP_TASKS_PER_NODE: '4(x2),3',
};

const openMpi: Environment = {
  OMPI_COMM_WORLD_RANK: '1',
  OMPI_COMM_WORLD_SIZE: '4',
  OMPI_COMM_WORLD_LOCAL_RANK: '1',
  OMPI_COMM_WORLD_LOCAL_SIZE: '2',
};

const cases: readonly (readonly [string, Environment, Partial<Membership>])[] = [
  [
    'coll run',
    {
      COLL_RANK: '0',
      COLL_SIZE: '2',
      COLL_LOCAL_RANK: '0',
      COLL_LOCAL_SIZE: '2',
      COLL_STORE: 'tcp://127.0.0.1:4000',
      COLL_RESTART: '1',
      ...openMpi,
    },
    { rank: 0, size: 2, localRank: 0, localSize: 2, coordinator: 'tcp://127.0.0.1:4000', restarts: 1 },
  ],
  [
    'TF_CONFIG',
    { TF_CONFIG: tfConfig },
    { rank: 2, size: 4, localRank: 1, localSize: 2, coordinator: 'a:1', addresses: ['a:1', 'b:1', 'b:2', 'c:1'] },
  ],
  [
    'torchrun',
    {
      RANK: '3',
      WORLD_SIZE: '4',
      LOCAL_RANK: '1',
      LOCAL_WORLD_SIZE: '2',
      MASTER_ADDR: 'h',
      TORCHELASTIC_RESTART_COUNT: '1',
    },
    { rank: 3, size: 4, localRank: 1, localSize: 2, coordinator: 'h:29500', restarts: 1 },
  ],
  [
    'torchrun',
    { RANK: '1', WORLD_SIZE: '2', MASTER_ADDR: 'h', MASTER_PORT: '23456' },
    { counts: 'hosts', rank: 1, size: 2, coordinator: 'h:23456' },
  ],
  [
    'torchrun',
    { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: 'fd00::1' },
    { counts: 'hosts', coordinator: '[fd00::1]:29500' },
  ],
  [
    'torchrun',
    { RANK: '0', WORLD_SIZE: '2', MASTER_ADDR: '[fd00::1]', MASTER_PORT: '7' },
    { counts: 'hosts', coordinator: '[fd00::1]:7' },
  ],
  [
    'Kubeflow TrainJob',
    { PET_NODE_RANK: '1', PET_NNODES: '1:4', PET_MASTER_ADDR: 'h' },
    { counts: 'hosts', rank: 1, size: undefined, coordinator: 'h:29500' },
  ],
  [
    'Kubeflow TrainJob',
    { PET_NODE_RANK: '1', PET_NNODES: '4', PET_MASTER_ADDR: 'h', PET_MASTER_PORT: '7' },
    { counts: 'hosts', rank: 1, size: 4, coordinator: 'h:7' },
  ],
  ['Kubeflow TrainJob', { PET_NODE_RANK: '1' }, { counts: 'hosts', rank: 1, size: undefined, coordinator: undefined }],
  ['Open MPI', { ...openMpi, ...slurmStep }, { rank: 1, size: 4, localRank: 1, localSize: 2 }],
  [
    'MPICH',
    { PMI_RANK: '1', PMI_SIZE: '3', MPI_LOCALRANKID: '1', MPI_LOCALNRANKS: '3' },
    { rank: 1, size: 3, localRank: 1, localSize: 3 },
  ],
  [
    'MPICH',
    { PMI_RANK: '2', PMI_SIZE: '3', MPI_LOCALRANKID: '0', MPI_LOCALNRANKS: '1', ...slurmStep },
    { rank: 2, size: 3 },
  ],
  [
    'MVAPICH2',
    {
      MV2_COMM_WORLD_RANK: '0',
      MV2_COMM_WORLD_SIZE: '8',
      MV2_COMM_WORLD_LOCAL_RANK: '1',
      MV2_COMM_WORLD_LOCAL_SIZE: '4',
    },
    { rank: 0, size: 8, localRank: 1, localSize: 4 },
  ],
  [
    'Cray PALS',
    { PALS_RANKID: '1', PMI_SIZE: '4', PMI_RANK: '1', PALS_LOCAL_RANKID: '1', PALS_LOCAL_SIZE: '2' },
    { rank: 1, size: 4, localRank: 1, localSize: 2 },
  ],
  [
    'LSF',
    {
      JSM_NAMESPACE_RANK: '5',
      JSM_NAMESPACE_SIZE: '8',
      JSM_NAMESPACE_LOCAL_RANK: '1',
      JSM_NAMESPACE_LOCAL_SIZE: '4',
      LSB_MCPU_HOSTS: ' h1  4 h2 4',
    },
    { rank: 5, size: 8, localRank: 1, localSize: 4, coordinator: 'h1' },
  ],
  ['LSF', { JSM_NAMESPACE_RANK: '1', JSM_NAMESPACE_SIZE: '2' }, { rank: 1, size: 2, coordinator: undefined }],
  ['MPICH', { PMI_RANK: '1' }, { rank: 1, size: undefined }],
  [
    'Flux',
    { FLUX_TASK_RANK: '1', FLUX_JOB_SIZE: '2', FLUX_TASK_LOCAL_ID: '0', PMI_RANK: '1', PMI_SIZE: '2' },
    { rank: 1, size: 2, localRank: 0, localSize: undefined },
  ],
  ['Slurm', slurmStep, { rank: 5, size: 11, localRank: 1, localSize: 4, coordinator: 'gpu001:61482' }],
  ['Slurm', { ...slurmStep, PMI_RANK: '5', PMI_SIZE: '11', PMI_JOBID: '42.0' }, { rank: 5, size: 11, localSize: 4 }],
  ['Slurm', { ...slurmStep, SLURM_STEP_TASKS_PER_NODE: '' }, { rank: 5, size: 11, localSize: undefined }],
  ['Slurm', { ...slurmStep, SLURM_NODEID: '' }, { rank: 5, size: 11, localSize: undefined }],
  ['Slurm', { ...slurmStep, SLURM_NODEID: '2' }, { localSize: 3 }],
  ['Slurm', { ...slurmStep, SLURM_NODEID: '', SLURM_STEP_TASKS_PER_NODE: 'odd' }, { localSize: undefined }],
  ['Slurm', { ...slurmStep, SLURM_STEP_NUM_TASKS: '6' }, { size: 6 }],
  ['Slurm', { ...slurmStep, SLURM_STEP_NUM_TASKS: '' }, { size: 11 }],
  ['Slurm', { ...slurmStep, SLURM_RESTART_COUNT: '3' }, { restarts: 3 }],
  ['Slurm', { ...slurmStep, SLURM_STEP_NODELIST: '', SLURM_NODELIST: 'b[2-3]' }, { coordinator: 'b2:61482' }],
  ['Slurm', { ...slurmStep, SLURM_STEP_NODELIST: '' }, { coordinator: undefined }],
  ['Slurm', { ...slurmStep, SLURM_JOB_ID: '' }, { coordinator: 'gpu001' }],
  // Job numbers of federated clusters are larger than a billion.
  ['Slurm', { ...slurmStep, SLURM_JOB_ID: '1543503875' }, { coordinator: 'gpu001:61443' }],
  [
    'Horovod',
    { HOROVOD_RANK: '1', HOROVOD_SIZE: '2', HOROVOD_GLOO_RENDEZVOUS_ADDR: 'h', HOROVOD_GLOO_RENDEZVOUS_PORT: '7' },
    { rank: 1, size: 2, coordinator: 'h:7' },
  ],
  ['Horovod', { HOROVOD_RANK: '1', HOROVOD_GLOO_RENDEZVOUS_ADDR: 'h' }, { rank: 1, coordinator: 'h' }],
  [
    'Horovod',
    { HOROVOD_RANK: '5', HOROVOD_SIZE: '8', HOROVOD_LOCAL_RANK: '1', HOROVOD_LOCAL_SIZE: '4' },
    { rank: 5, size: 8, localRank: 1, localSize: 4, coordinator: undefined },
  ],
  [
    'LeaderWorkerSet',
    { LWS_WORKER_INDEX: '2', LWS_GROUP_SIZE: '3', LWS_LEADER_ADDRESS: 'l.svc', JOB_COMPLETION_INDEX: '0' },
    { rank: 2, size: 3, localRank: 0, localSize: 1, coordinator: 'l.svc' },
  ],
  [
    'Kubernetes indexed job',
    { JOB_COMPLETION_INDEX: '1', COLL_SIZE: '2' },
    { rank: 1, size: 2, localRank: 0, localSize: 1 },
  ],
  [
    'AWS Batch',
    { AWS_BATCH_JOB_NODE_INDEX: '0', AWS_BATCH_JOB_NUM_NODES: '2' },
    { rank: 0, size: 2, coordinator: undefined },
  ],
  [
    'AWS Batch',
    {
      AWS_BATCH_JOB_NODE_INDEX: '1',
      AWS_BATCH_JOB_NUM_NODES: '2',
      AWS_BATCH_JOB_MAIN_NODE_INDEX: '0',
      AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS: '10.0.0.1',
    },
    { rank: 1, size: 2, coordinator: '10.0.0.1' },
  ],
  // The main node is not rank 0, so its address cannot be the coordinator's.
  [
    'AWS Batch',
    {
      AWS_BATCH_JOB_NODE_INDEX: '1',
      AWS_BATCH_JOB_NUM_NODES: '3',
      AWS_BATCH_JOB_MAIN_NODE_INDEX: '2',
      AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS: '10.0.0.3',
    },
    { rank: 1, size: 3, coordinator: undefined },
  ],
  // COLL_SIZE provides the size if the launcher does not.
  ['Cray PALS', { PALS_RANKID: '1', COLL_SIZE: '4' }, { rank: 1, size: 4 }],
  ['Open MPI', { ...openMpi, COLL_SIZE: '9' }, { rank: 1, size: 4 }],
  [
    'SageMaker',
    { SM_HOSTS: '["algo-1","algo-2"]', SM_CURRENT_HOST: 'algo-2' },
    { rank: 1, size: 2, localRank: 0, localSize: 1, coordinator: 'algo-1' },
  ],
  ['SageMaker', { SM_HOSTS: '["algo-1","algo-2"]', SM_CURRENT_HOST: 'algo-1' }, { rank: 0, size: 2 }],
  // A variable with the name "undefined" must not be read.
  ['Flux', { FLUX_TASK_RANK: '1', undefined: '7' }, { rank: 1, localSize: undefined }],
  ['Kubernetes indexed job', { JOB_COMPLETION_INDEX: '1', undefined: '7' }, { rank: 1, size: undefined }],
];

describe('membershipFrom', () => {
  it.each(cases)(
    'reads the rank and the size of the group from the variables of %s: %j',
    (launcher, environment, expected) => {
      expect(membershipFrom(environment)).toMatchObject({ counts: 'processes', ...expected, launcher });
    },
  );

  it('returns undefined in a Slurm batch script and for a TF_CONFIG without a cluster', () => {
    const { SLURM_STEP_ID: _, ...batch } = slurmStep;
    expect(membershipFrom(batch)).toBeUndefined();
    expect(membershipFrom({ TF_CONFIG: '{}' })).toBeUndefined();
    expect(membershipFrom({ RANK: '0', WORLD_SIZE: '2' })).toBeUndefined();
  });

  it.each<Environment>([
    { COLL_RANK: '-1', COLL_SIZE: '2' },
    { COLL_RANK: '1e3', COLL_SIZE: '2' },
    { COLL_RANK: '2', COLL_SIZE: '2' },
    { COLL_RANK: '0', COLL_SIZE: '0' },
    { TF_CONFIG: '{' },
    { TF_CONFIG: '[]' },
    { TF_CONFIG: '{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}' },
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}' },
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}}' },
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}' },
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}}' },
    { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker"}}' },
    { SM_HOSTS: 'algo-1', SM_CURRENT_HOST: 'algo-1' },
    { SM_HOSTS: '["algo-1",2]', SM_CURRENT_HOST: 'algo-1' },
    { SM_HOSTS: '["algo-1"]', SM_CURRENT_HOST: 'algo-2' },
    { SM_HOSTS: '{"0":"algo-1"}', SM_CURRENT_HOST: 'algo-1' },
    { ...slurmStep, SLURM_STEP_NODELIST: 'gpu[' },
  ])('refuses the variables %j', (environment) => {
    expect(() => membershipFrom(environment)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
    );
  });

  it.each<[string, Environment]>([
    ['RANK must be a whole number, 0 or more, got "one"', { RANK: 'one', WORLD_SIZE: '2', MASTER_ADDR: 'h' }],
    ['a host list must be written like', { ...slurmStep, SLURM_STEP_NODELIST: 'gpu[' }],
    ['got rank 2 of 2', { COLL_RANK: '2', COLL_SIZE: '2' }],
    ['must be at most 65536, got 65537', { COLL_RANK: '0', COLL_SIZE: '65537' }],
    ['TF_CONFIG has a cluster without a task', { TF_CONFIG: '{"cluster": {"worker": ["a:1"]}}' }],
    ['contains SM_CURRENT_HOST, algo-2', { SM_HOSTS: '["algo-1"]', SM_CURRENT_HOST: 'algo-2' }],
    ['COLL_STORE must be a string, got 5', { COLL_RANK: '0', COLL_STORE: 5 as never }],
  ])('keeps the original error as the cause: %s', (message, environment) => {
    const cause = expect.objectContaining({ code: 'ERR_COLL_CLUSTER', message: expect.stringContaining(message) });
    expect(() => membershipFrom(environment)).toThrow(expect.objectContaining({ cause }));
  });

  it('accepts a group of 65536 members, the maximum', () => {
    expect(membershipFrom({ COLL_RANK: '65535', COLL_SIZE: '65536' })).toMatchObject({ size: 65_536 });
  });
});

it('an oversized group is refused before its addresses are generated', () => {
  const message = /coll run, but the number of members must be at most 65536, got 50000000/;
  expect(() => membershipFrom({ COLL_RANK: '0', COLL_SIZE: '50000000' })).toThrow(message);
});

it('an error names the launcher whose variables are invalid', () => {
  expect(() => membershipFrom({ RANK: 'one', WORLD_SIZE: '2', MASTER_ADDR: 'h' })).toThrow(
    'this process seems to be started by torchrun, but RANK must be a whole number, 0 or more, got "one"',
  );
  const slurm = { ...slurmStep, SLURM_STEP_NODELIST: 'gpu[' };
  expect(() => membershipFrom(slurm)).toThrow(
    'by Slurm, but a host list must be written like gpu[001-003,7],login; in "gpu["',
  );
  expect(() => membershipFrom({ ...openMpi, OMPI_COMM_WORLD_RANK: '4' })).toThrow(
    'by Open MPI, but the rank must be from 0 to below the group size, got rank 4 of 4',
  );
});

describe('a TF_CONFIG with a cluster', () => {
  const of = (task: object) => ({ TF_CONFIG: JSON.stringify({ cluster: { worker: ['a:1'], ps: ['b:1'] }, ...task }) });

  it.each([
    [{}, 'TF_CONFIG has a cluster without a task: add the task of this process, "task": {"type":'],
    [{ task: { type: 'worker' } }, 'TF_CONFIG has a cluster without a task'],
    [{ task: { index: 0 } }, 'TF_CONFIG has a cluster without a task'],
    [{ task: { type: 'worker', index: 1 } }, 'job worker has no task 1: its 1 tasks'],
    [{ task: { type: 'chief', index: 0 } }, 'task type "chief" is not in the cluster'],
    [{ task: { type: 'worker', index: 0 }, cluster: { worker: { 1: 'a:1' } } }, 'job "worker" has no task 0; it has 1'],
  ])('must name an existing task, not %j', (task, message) => {
    const asked = () => new EnvironmentClusterResolver({ variables: { ...of(task), ...openMpi } });
    expect(asked).toThrow('this process seems to be started by TF_CONFIG, but ');
    const cause = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(asked).toThrow(expect.objectContaining({ message: expect.stringContaining(message), cause }));
  });

  it.each(['ps', 'evaluator'])('excludes a task of the job %s from the group, whatever other launchers set', (type) => {
    const variables = { ...of({ task: { type, index: 0 } }), ...slurmStep };
    expect(membershipFrom(variables)).toBeUndefined();
    expect(() => new EnvironmentClusterResolver({ variables })).toThrow(
      `TF_CONFIG describes this task as ${type} 0, which is not a member of the group`,
    );
  });
});

it('membershipFrom returns a member or undefined, or throws a ValueError, for any variables', () => {
  const names = [
    'COLL_SIZE',
    'WORLD_SIZE',
    'PMI_SIZE',
    'SLURM_NTASKS',
    'SLURM_NODEID',
    'SLURM_STEP_NODELIST',
    'HOSTNAME',
  ];
  const text = fc.constantFrom('', ' ', '0', '1', '2', '-1', '1e0', '0x1', 'a-0', 'a[1-3]', 'n[', '["a"]', '{}', '1:4');
  const all = [...new Set([...launchers.flatMap(({ markers }) => markers), ...names])];
  const variables = fc.record(Object.fromEntries(all.map((name) => [name, text])), { requiredKeys: [] });
  fc.assert(
    fc.property(variables, fc.constantFrom(undefined, 'service'), (environment, service) => {
      try {
        const { rank, size } = membershipFrom(environment, service) ?? { rank: 0 };
        expect(Number.isSafeInteger(rank) && rank >= 0 && rank < (size ?? Infinity)).toBe(true);
      } catch (error) {
        expect(error).toBeInstanceOf(ValueError);
      }
    }),
  );
});

describe('EnvironmentClusterResolver', () => {
  it('makes every process a worker', () => {
    const resolver = new EnvironmentClusterResolver({ variables: slurmStep });
    expect([resolver.taskType, resolver.taskId, resolver.environment]).toEqual(['worker', 5, 'Slurm']);
    expect(resolver.clusterSpec().numTasks('worker')).toBe(11);
    expect(resolver.master({ taskId: 0 })).toBe('gpu001:61482');
    expect([resolver.master(), resolver.rpcLayer, resolver.numAccelerators()]).toEqual(['', undefined, {}]);
    const unknown = new EnvironmentClusterResolver({ variables: { ...openMpi } });
    expect(unknown.clusterSpec().jobTasks('worker')).toEqual(['', '', '', '']);
  });

  it('uses the addresses of TF_CONFIG', () => {
    const resolver = new EnvironmentClusterResolver({ variables: { TF_CONFIG: tfConfig } });
    expect(resolver.clusterSpec().jobTasks('worker')).toEqual(['a:1', 'b:1', 'b:2', 'c:1']);
    expect(resolver.taskId).toBe(2);
  });

  it('uses the number in the host name of a pod with statefulSetService', () => {
    const variables = { HOSTNAME: 'train-digits-2', COLL_SIZE: '3' };
    expect(membershipFrom(variables)).toBeUndefined();
    const { membership, taskId } = new EnvironmentClusterResolver({ variables, statefulSetService: 'workers' });
    expect([membership.launcher, taskId, membership.size]).toEqual(['StatefulSet', 2, 3]);
    expect(membership.coordinator).toBe('train-digits-0.workers');
    expect(membershipFrom({ ...variables, ...openMpi }, 'workers')).toMatchObject({ launcher: 'Open MPI' });
    for (const HOSTNAME of ['train', 'train-x', 'train-3'])
      expect(() => membershipFrom({ ...variables, HOSTNAME }, 'workers')).toThrow(
        expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }),
      );
    expect(() => membershipFrom({ COLL_SIZE: '3' }, 'workers')).toThrow(
      'this process seems to be started by StatefulSet, but the environment variable HOSTNAME is not set',
    );
    expect(() => membershipFrom({ COLL_SIZE: '3' }, 'workers')).toThrow(
      expect.objectContaining({ cause: expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_CLUSTER' }) }),
    );
    for (const HOSTNAME of ['-0', 'a-0b', 'train-', 'two\nlines-1'])
      expect(() => membershipFrom({ HOSTNAME }, 'workers')).toThrow('HOSTNAME must be the name of a pod');
    expect(membershipFrom({ HOSTNAME: 'a-12', COLL_SIZE: '13' }, 'workers')).toMatchObject({
      ...{ rank: 12, localRank: 0, localSize: 1, coordinator: 'a-0.workers' },
    });
  });

  it('reports which variables are missing', () => {
    expect(() => new EnvironmentClusterResolver({ variables: {} })).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER' }),
    );
    expect(() => new EnvironmentClusterResolver({ variables: {} })).toThrow(
      'start the program with a launcher, such as coll run -n 2',
    );
    expect(() => new EnvironmentClusterResolver({ variables: { SLURM_PROCID: '0' } })).toThrow('with srun');
    expect(() => new EnvironmentClusterResolver({ variables: {} })).toThrow('checked: coll run, TF_CONFIG, torchrun');
    expect(() => new EnvironmentClusterResolver({ variables: { JOB_COMPLETION_INDEX: '0' } })).toThrow('COLL_SIZE');
    expect(() => new EnvironmentClusterResolver({ variables: { PMI_RANK: '0' } })).toThrow(
      'MPICH does not say how many members there are: set COLL_SIZE to their number',
    );
    expect(() => new EnvironmentClusterResolver({ variables: { PMI_RANK: '0' } })).toThrow(
      expect.objectContaining({ name: 'RuntimeError', code: 'ERR_COLL_CLUSTER' }),
    );
  });
});
