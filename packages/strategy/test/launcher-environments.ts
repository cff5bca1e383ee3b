import type { Environment } from '@coll/strategy';

/** The variables of a launcher for each of two workers. */
export interface LauncherEnvironment {
  readonly launcher: string;
  /** `run`: seen in a run of the launcher; `documented`: as its documentation or source gives them. */
  readonly source: 'run' | 'documented';
  of(rank: number, here: string): Environment;
}

/** Two workers under each launcher; hosts and pods have the address `here`. Ports and job numbers are examples. */
export const launcherEnvironments: readonly LauncherEnvironment[] = [
  {
    launcher: 'torchrun',
    source: 'documented',
    of: (rank) => ({
      ...{ RANK: `${rank}`, WORLD_SIZE: '2', LOCAL_RANK: `${rank}`, LOCAL_WORLD_SIZE: '2', GROUP_RANK: '0' },
      ...{ ROLE_RANK: `${rank}`, ROLE_NAME: 'default', GROUP_WORLD_SIZE: '1', MASTER_ADDR: '127.0.0.1' },
      ...{ MASTER_PORT: '29500', TORCHELASTIC_RUN_ID: 'none', TORCHELASTIC_RESTART_COUNT: '0' },
      ...{ TORCHELASTIC_MAX_RESTARTS: '0', TORCHELASTIC_USE_AGENT_STORE: 'True' },
    }),
  },
  {
    launcher: 'Kubeflow TrainJob',
    source: 'documented',
    of: (rank) => ({
      ...{ PET_NODE_RANK: `${rank}`, PET_NNODES: '2', PET_NPROC_PER_NODE: '1' },
      ...{ PET_MASTER_ADDR: 'train-node-0-0.train', PET_MASTER_PORT: '29400' },
    }),
  },
  {
    launcher: 'Open MPI',
    source: 'run',
    of: (rank, here) => ({
      ...{ OMPI_COMM_WORLD_RANK: `${rank}`, OMPI_COMM_WORLD_SIZE: '2', OMPI_COMM_WORLD_NODE_RANK: '0' },
      ...{ OMPI_COMM_WORLD_LOCAL_RANK: '0', OMPI_COMM_WORLD_LOCAL_SIZE: '1' },
      ...{ OMPI_MCA_orte_hnp_uri: `936968192.0;tcp://${here}:33499;tcp6://[fd00::2]:49927` },
      ...{ PMIX_NAMESPACE: '936968193', PMIX_RANK: `${rank}`, PMIX_SERVER_TMPDIR: '/tmp/ompi.node01.0/pid.23335' },
    }),
  },
  {
    launcher: 'MVAPICH2',
    source: 'documented',
    of: (rank) => ({
      ...{ MV2_COMM_WORLD_RANK: `${rank}`, MV2_COMM_WORLD_SIZE: '2' },
      ...{ MV2_COMM_WORLD_LOCAL_RANK: `${rank}`, MV2_COMM_WORLD_LOCAL_SIZE: '2' },
    }),
  },
  {
    launcher: 'Cray PALS',
    source: 'documented',
    of: (rank) => ({
      ...{ PALS_RANKID: `${rank}`, PALS_NODEID: '0', PALS_LOCAL_RANKID: `${rank}`, PALS_LOCAL_SIZE: '2' },
      ...{ PALS_APID: '6e0d4d4e-2d44-4a0a-b1b4-7a6f8ad2f3c1', PMI_RANK: `${rank}`, PMI_SIZE: '2' },
    }),
  },
  {
    launcher: 'MPICH',
    source: 'run',
    of: (rank) => ({
      ...{ PMI_RANK: `${rank}`, PMI_SIZE: '2', MPI_LOCALRANKID: `${rank}`, MPI_LOCALNRANKS: '2' },
    }),
  },
  {
    launcher: 'LSF',
    source: 'documented',
    of: (rank) => ({
      ...{ JSM_NAMESPACE_RANK: `${rank}`, JSM_NAMESPACE_SIZE: '2', LSB_JOBID: '271' },
      ...{ JSM_NAMESPACE_LOCAL_RANK: '0', JSM_NAMESPACE_LOCAL_SIZE: '1', LSB_MCPU_HOSTS: 'h36n01 1 h36n02 1' },
    }),
  },
  {
    launcher: 'Flux',
    source: 'documented',
    of: (rank) => ({
      ...{ FLUX_TASK_RANK: `${rank}`, FLUX_JOB_SIZE: '2', FLUX_JOB_NNODES: '1', FLUX_TASK_LOCAL_ID: `${rank}` },
      ...{ FLUX_JOB_ID: 'ƒ2TzVmFNN1', PMI_RANK: `${rank}`, PMI_SIZE: '2' },
    }),
  },
  {
    launcher: 'Slurm',
    source: 'run',
    of: (rank) => ({
      ...{ SLURM_JOB_ID: '3', SLURM_STEP_ID: '0', SLURM_PROCID: `${rank}`, SLURM_NTASKS: '2', SLURM_NODEID: `${rank}` },
      ...{ SLURM_STEP_NUM_TASKS: '2', SLURM_LOCALID: '0', SLURM_STEP_NODELIST: 'node[01-02]' },
      ...{ SLURM_STEP_TASKS_PER_NODE: '1(x2)', SLURM_LAUNCH_NODE_IPADDR: '127.0.0.1' },
    }),
  },
  {
    launcher: 'Horovod',
    source: 'documented',
    of: (rank, here) => ({
      ...{ HOROVOD_RANK: `${rank}`, HOROVOD_SIZE: '2', HOROVOD_LOCAL_RANK: '0', HOROVOD_LOCAL_SIZE: '1' },
      ...{ HOROVOD_CROSS_RANK: `${rank}`, HOROVOD_CROSS_SIZE: '2', HOROVOD_HOSTNAME: `node0${rank}` },
      ...{ HOROVOD_GLOO_RENDEZVOUS_ADDR: here, HOROVOD_GLOO_RENDEZVOUS_PORT: '16407', HOROVOD_CONTROLLER: 'gloo' },
    }),
  },
  {
    launcher: 'LeaderWorkerSet',
    source: 'documented',
    of: (rank) => ({
      ...{ LWS_WORKER_INDEX: `${rank}`, LWS_GROUP_SIZE: '2', LWS_LEADER_ADDRESS: 'train-0.train.default' },
    }),
  },
  {
    launcher: 'Kubernetes indexed job',
    source: 'documented',
    // The last two are the user's: no variable gives them.
    of: (rank) => ({
      ...{ JOB_COMPLETION_INDEX: `${rank}`, HOSTNAME: `train-${rank}`, COLL_SIZE: '2', COLL_SERVICE: 'workers' },
    }),
  },
  {
    launcher: 'AWS Batch',
    source: 'documented',
    of: (rank, here) => ({
      ...{ AWS_BATCH_JOB_NODE_INDEX: `${rank}`, AWS_BATCH_JOB_NUM_NODES: '2', AWS_BATCH_JOB_MAIN_NODE_INDEX: '0' },
      ...{ AWS_BATCH_JOB_ID: '016ab0c0-2b4f-4b3f-9a37-ad7d9ab6b5a1' },
      ...(rank === 0 ? {} : { AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS: here }),
    }),
  },
  {
    launcher: 'SageMaker',
    source: 'documented',
    of: (rank) => ({ SM_HOSTS: '["algo-1","algo-2"]', SM_CURRENT_HOST: `algo-${rank + 1}` }),
  },
];
