import { ValueError } from '@coll/core';
import { validateCluster } from './cluster-rules.js';
import type { Variables } from './environment-variables.js';
import { expandHostList, expandTaskCounts } from './host-list.js';
import type { Membership } from './membership.js';
import { clusterOf, taskIdOf, taskTypeOf, tfConfigFrom } from './tf-config.js';
import { wrongValue } from './wrong-value.js';

/** The fields of a membership that a launcher provides. */
type Found = Partial<Omit<Membership, 'launcher'>> & Pick<Membership, 'rank'>;

/** A launcher, and how to read its variables. */
export interface Launcher {
  readonly name: string;
  /** Names of variables. The launcher started the process if all of them are set. */
  readonly markers: readonly string[];
  /**
   * Reads the launcher's variables. Returns undefined if the variables in `markers` are set for
   * another reason; `no member` if this process is not part of the group.
   */
  read(variables: Variables): Found | 'no member' | undefined;
  /** Variables that identify the job. The port of the group's store is derived from the first one that is set. */
  readonly jobIds?: readonly string[];
  /** Whether a server of the launcher listens at the coordinator's port. */
  isPortHeld?(variables: Variables): boolean;
}

/**
 * The known launchers in order of precedence: the first one whose environment variables in
 * `markers` are set is used. MPI precedes Slurm, because `mpirun` in a Slurm step sets MPI's
 * variables in addition to Slurm's.
 */
export const launchers: readonly Launcher[] = [
  {
    name: 'coll run',
    markers: ['COLL_RANK'],
    read: (v) => ({
      ...v.group('COLL_RANK', 'COLL_SIZE', 'COLL_LOCAL_RANK', 'COLL_LOCAL_SIZE'),
      coordinator: v.text('COLL_STORE'),
      restarts: v.number('COLL_RESTART'),
    }),
  },
  { name: 'TF_CONFIG', markers: ['TF_CONFIG'], read: readTFConfig },
  {
    // Without LOCAL_RANK each member is a host, as in a PyTorchJob whose pods run torchrun
    // themselves.
    name: 'torchrun',
    markers: ['RANK', 'WORLD_SIZE', 'MASTER_ADDR'],
    read: (v) => ({
      ...v.group('RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE'),
      counts: v.has('LOCAL_RANK') ? 'processes' : 'hosts',
      coordinator: v.address('MASTER_ADDR', v.text('MASTER_PORT') ?? '29500'),
      restarts: v.number('TORCHELASTIC_RESTART_COUNT'),
    }),
    // The agent on the first host serves a store to its processes. Pods have no agent.
    isPortHeld: (v) => v.has('LOCAL_RANK'),
  },
  {
    name: 'Kubeflow TrainJob',
    markers: ['PET_NODE_RANK'],
    read: (v) => ({
      rank: v.require('PET_NODE_RANK'),
      // A range such as 1:4 belongs to an elastic job, whose size is not known yet.
      size: v.text('PET_NNODES')?.includes(':') ? undefined : v.number('PET_NNODES'),
      counts: 'hosts',
      coordinator: v.address('PET_MASTER_ADDR', v.text('PET_MASTER_PORT') ?? '29500'),
    }),
  },
  {
    name: 'Open MPI',
    markers: ['OMPI_COMM_WORLD_RANK'],
    read: (v) => ({
      ...v.group(
        'OMPI_COMM_WORLD_RANK',
        'OMPI_COMM_WORLD_SIZE',
        'OMPI_COMM_WORLD_LOCAL_RANK',
        'OMPI_COMM_WORLD_LOCAL_SIZE',
      ),
      // mpirun starts rank 0 on its own host, unless its options say otherwise.
      coordinator: /;tcp:\/\/([\d.]+)[,:]/.exec(v.text('OMPI_MCA_orte_hnp_uri') ?? '')?.[1],
    }),
    jobIds: ['PMIX_NAMESPACE'],
  },
  {
    name: 'MVAPICH2',
    markers: ['MV2_COMM_WORLD_RANK'],
    read: (v) =>
      v.group('MV2_COMM_WORLD_RANK', 'MV2_COMM_WORLD_SIZE', 'MV2_COMM_WORLD_LOCAL_RANK', 'MV2_COMM_WORLD_LOCAL_SIZE'),
  },
  {
    name: 'Cray PALS',
    markers: ['PALS_RANKID'],
    read: (v) => v.group('PALS_RANKID', 'PMI_SIZE', 'PALS_LOCAL_RANKID', 'PALS_LOCAL_SIZE'),
    jobIds: ['PALS_APID'],
  },
  {
    // srun --mpi=pmi2 and Flux also set PMI_RANK, but not MPI_LOCALRANKID. In that case the
    // variables of Slurm and Flux say more.
    name: 'MPICH',
    markers: ['PMI_RANK'],
    read: (v) =>
      (v.has('SLURM_STEP_ID') || v.has('FLUX_TASK_RANK')) && !v.has('MPI_LOCALRANKID')
        ? undefined
        : v.group('PMI_RANK', 'PMI_SIZE', 'MPI_LOCALRANKID', 'MPI_LOCALNRANKS'),
  },
  {
    name: 'LSF',
    markers: ['JSM_NAMESPACE_RANK'],
    read: (v) => ({
      ...v.group('JSM_NAMESPACE_RANK', 'JSM_NAMESPACE_SIZE', 'JSM_NAMESPACE_LOCAL_RANK', 'JSM_NAMESPACE_LOCAL_SIZE'),
      coordinator: v.text('LSB_MCPU_HOSTS')?.trim().split(/\s/)[0],
    }),
    jobIds: ['LSB_JOBID'],
  },
  {
    name: 'Flux',
    markers: ['FLUX_TASK_RANK'],
    read: (v) => {
      const place = v.group('FLUX_TASK_RANK', 'FLUX_JOB_SIZE', 'FLUX_TASK_LOCAL_ID', undefined);
      return { ...place, localSize: v.number('FLUX_JOB_NNODES') === 1 ? place.size : undefined };
    },
    jobIds: ['FLUX_JOB_ID'],
  },
  { name: 'Slurm', markers: ['SLURM_PROCID', 'SLURM_STEP_ID'], read: readSlurm },
  {
    name: 'Horovod',
    markers: ['HOROVOD_RANK'],
    read: (v) => ({
      ...v.group('HOROVOD_RANK', 'HOROVOD_SIZE', 'HOROVOD_LOCAL_RANK', 'HOROVOD_LOCAL_SIZE'),
      coordinator: v.address('HOROVOD_GLOO_RENDEZVOUS_ADDR', v.text('HOROVOD_GLOO_RENDEZVOUS_PORT')),
    }),
    isPortHeld: () => true,
  },
  {
    // Precedes the indexed job, because it also provides the size and the first member's address.
    name: 'LeaderWorkerSet',
    markers: ['LWS_WORKER_INDEX'],
    read: (v) => ({ ...v.single('LWS_WORKER_INDEX', 'LWS_GROUP_SIZE'), coordinator: v.text('LWS_LEADER_ADDRESS') }),
  },
  {
    name: 'Kubernetes indexed job',
    markers: ['JOB_COMPLETION_INDEX'],
    read: (v) => ({ ...v.single('JOB_COMPLETION_INDEX', undefined), coordinator: firstPod(v) }),
  },
  {
    name: 'AWS Batch',
    markers: ['AWS_BATCH_JOB_NODE_INDEX'],
    read: (v) => ({
      ...v.single('AWS_BATCH_JOB_NODE_INDEX', 'AWS_BATCH_JOB_NUM_NODES'),
      // The address of rank 0, if it is the main node, where this variable is not set.
      coordinator: v.number('AWS_BATCH_JOB_MAIN_NODE_INDEX')
        ? undefined
        : v.text('AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS'),
    }),
  },
  { name: 'SageMaker', markers: ['SM_HOSTS', 'SM_CURRENT_HOST'], read: readSageMaker },
];

/**
 * Derives the rank of a pod of a StatefulSet from its host name: `name-0`, `name-1` and so on. No
 * environment variable reports it.
 */
export function statefulSet(service: string): Launcher {
  return {
    name: 'StatefulSet',
    // No variable is needed: the caller selects this launcher by passing the service.
    markers: [],
    read(v) {
      const host = v.requireText('HOSTNAME');
      const { name, rank } = /^(?<name>.+)-(?<rank>\d+)$/.exec(host)?.groups ?? {};
      if (name === undefined)
        throw wrongValue('HOSTNAME must be the name of a pod of a StatefulSet, which ends in -0, -1, …', host);
      const coordinator = `${name}-0.${service}`;
      return { rank: Number(rank), localRank: 0, localSize: 1, coordinator };
    },
  };
}

/** The name of pod 0 of an indexed job; undefined without the name of the service, which no launcher sets. */
function firstPod(v: Variables): string | undefined {
  const [service, host, index] = [v.text('COLL_SERVICE'), v.text('HOSTNAME'), v.require('JOB_COMPLETION_INDEX')];
  if (service === undefined) return undefined;
  if (host?.endsWith(`-${index}`)) return `${host.slice(0, -String(index).length)}0.${service}`;
  throw wrongValue(`HOSTNAME must be the name of pod ${index} of an indexed job, which ends in -${index}`, host);
}

const memberJobs: readonly string[] = ['chief', 'worker'];

function readTFConfig({ environment }: Variables): Found | 'no member' | undefined {
  const config = tfConfigFrom(environment);
  const cluster = clusterOf(config);
  const [taskType, taskId] = [taskTypeOf(config), taskIdOf(config)];
  if (cluster.isEmpty) return undefined;
  if (taskType === undefined || taskId === undefined) {
    const advice = 'add the task of this process, "task": {"type": "worker", "index": 0}';
    throw new ValueError('ERR_COLL_CLUSTER', `TF_CONFIG has a cluster without a task: ${advice}`);
  }
  validateCluster(cluster, { taskType, taskId });
  if (!memberJobs.includes(taskType)) return 'no member';
  // Throws if the numbers of the job have a gap at this task.
  cluster.taskAddress(taskType, taskId);
  const tasks = memberJobs
    .filter((job) => cluster.jobs.includes(job))
    .flatMap((job) =>
      cluster.taskIndices(job).map((index) => ({ job, index, address: cluster.taskAddress(job, index) })),
    );
  const rank = tasks.findIndex(({ job, index }) => job === taskType && index === taskId);
  const addresses = tasks.map(({ address }) => address);
  const hosts = addresses.map((address) => address.split(/:\d+$/)[0]);
  const here = [...hosts.keys()].filter((other) => hosts[other] === hosts[rank]);
  return {
    rank,
    size: tasks.length,
    localRank: here.indexOf(rank),
    localSize: here.length,
    coordinator: addresses[0],
    addresses,
  };
}

/** Reads the variables of an srun step. A Slurm batch script also has SLURM_PROCID, but no step. */
function readSlurm(v: Variables): Found {
  const hosts = v.text('SLURM_STEP_NODELIST') ?? v.text('SLURM_NODELIST');
  const job = v.number('SLURM_JOB_ID');
  const first = hosts === undefined ? undefined : expandHostList(hosts)[0];
  const counts = v.text('SLURM_STEP_TASKS_PER_NODE');
  const node = v.number('SLURM_NODEID');
  return {
    rank: v.require('SLURM_PROCID'),
    size: v.number('SLURM_STEP_NUM_TASKS') ?? v.number('SLURM_NTASKS'),
    localRank: v.number('SLURM_LOCALID'),
    localSize: counts === undefined || node === undefined ? undefined : expandTaskCounts(counts)[node],
    // The port depends on the job, so that jobs that share a host hardly ever use the same port.
    coordinator: first !== undefined && job !== undefined ? `${first}:${61_440 + (job % 4096)}` : first,
    restarts: v.number('SLURM_RESTART_COUNT'),
  };
}

function readSageMaker(v: Variables): Found {
  const text = v.requireText('SM_HOSTS');
  const own = v.requireText('SM_CURRENT_HOST');
  const hosts = listFrom(text);
  if (hosts?.includes(own))
    return { rank: hosts.indexOf(own), size: hosts.length, localRank: 0, localSize: 1, coordinator: hosts[0] };
  throw wrongValue(`SM_HOSTS must be a JSON list of hosts that contains SM_CURRENT_HOST, ${own}`, text);
}

function listFrom(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item) => typeof item === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}
