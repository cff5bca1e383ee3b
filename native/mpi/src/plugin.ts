import { definePlugin, type Plugin, type ProbeResult, type ProcessGroup, RuntimeError } from '@coll/core';
import { CollectiveAllReduce } from '@coll/multi-worker';
import { membershipFrom, processEnvironment } from '@coll/rendezvous/internal';
import { openMpiGroup } from './open-mpi-group.js';
import type { MpiOptions } from './options.js';
import { probe } from './start-mpi.js';

declare module '@coll/core' {
  interface CrossDeviceOpsOptionsMap {
    mpi: MpiOptions;
  }
}

/** The launchers under which the processes of a job are ranks of MPI. */
const launchersOfMpi: readonly string[] = ['Open MPI', 'MPICH', 'MVAPICH2', 'Cray PALS', 'LSF', 'Flux', 'Slurm'];

/**
 * Collectives across the processes of an MPI job. Once it is registered, a
 * `MultiWorkerMirroredStrategy` under `mpirun` or `srun` connects its workers by MPI. By name it
 * makes all-reduce ops over all ranks of the job, with one CPU per rank unless the world has other
 * devices. `'auto'` never prefers it for the devices of one process.
 *
 * @example
 * ```ts
 * import { registry } from '@coll/core';
 * import { mpi } from '@coll/mpi';
 *
 * registry.register(mpi);
 * await using ops = await registry.create('mpi'); // in each process of: mpirun -n 2 node program.js
 * const sum = await ops.allReduce('SUM', new Float32Array([1]), Number(process.env['OMPI_COMM_WORLD_RANK']));
 * console.log('data' in sum && sum.data); // Float32Array(1) [ 2 ]
 * ```
 */
export const mpi: Plugin<MpiOptions> = definePlugin({
  name: 'mpi',
  module: import.meta.url,
  // Below all plug-ins for the devices of one process.
  priority: -1,
  capabilities: { severalTasks: true },
  probe: probeSituation,
  create: async (options, world) => {
    const group = await openMpiGroup(options);
    return new MpiAllReduce(group, world);
  },
  openGroup: openWorkers,
});

class MpiAllReduce extends CollectiveAllReduce {
  readonly #group: ProcessGroup;

  constructor(group: ProcessGroup, world: ConstructorParameters<typeof CollectiveAllReduce>[3]) {
    super(undefined, undefined, { group }, world);
    this.#group = group;
  }

  override async close(): Promise<void> {
    await super.close();
    await this.#group.close();
  }
}

function probeSituation(): ProbeResult {
  const launcher = launcherOfMpi();
  if (launcher === undefined) {
    return { available: false, reason: 'no launcher of MPI started this process: start it with mpirun or srun' };
  }
  const { available, reason } = probe();
  return available ? { available } : { available, reason: reason as string };
}

/**
 * Opens a group of the workers of a strategy; undefined if no launcher of MPI started this process.
 */
async function openWorkers({ rank, size }: { readonly rank: number; readonly size: number }) {
  if (launcherOfMpi() === undefined) return undefined;
  const group = await openMpiGroup();
  if (group.rank === rank && group.size === size) return group;
  const message = `MPI has this process as rank ${group.rank} of ${group.size}, the cluster as worker ${rank} of ${size}`;
  await group.close();
  throw new RuntimeError('ERR_COLL_CLUSTER', `mpi: ${message}: leave the workers to the launcher's variables`, {
    rank,
    operation: 'start',
  });
}

function launcherOfMpi(): string | undefined {
  const { launcher, counts } = membershipFrom(processEnvironment()) ?? {};
  return counts === 'processes' ? launchersOfMpi.find((name) => name === launcher) : undefined;
}
