import { RuntimeError } from '@coll/core';
import { knownOptions, optionsOf } from '@coll/core/internal';
import {
  ClusterSpec,
  type Environment,
  launchers,
  type Membership,
  membershipFrom,
  processEnvironment,
} from '@coll/rendezvous/internal';
import { type Accelerators, ClusterResolver, type TaskOptions, taskOptions } from './cluster-resolver.js';
import { TFConfigClusterResolver } from './tf-config-cluster-resolver.js';

/** The environment variables to read. */
export interface EnvironmentOptions {
  /** The environment variables to read. Default: `process.env`. */
  readonly variables?: Environment | undefined;
  /**
   * The headless service of the StatefulSet that this pod belongs to. Set this to derive the rank
   * from the pod's host name if no launcher sets variables; `COLL_SIZE` must contain the size.
   */
  readonly statefulSetService?: string | undefined;
}

const environmentOptions = knownOptions<EnvironmentOptions>('EnvironmentClusterResolver', {
  variables: true,
  statefulSetService: true,
});

/**
 * Determines from environment variables which launcher started this process, and its rank: `coll
 * run`, TF_CONFIG, torchrun, MPI, Slurm and others. All processes are workers. If the launcher does
 * not provide addresses, the address of task 0 is that of the coordinator, and the others are empty
 * strings.
 *
 * @example
 * ```ts
 * import { EnvironmentClusterResolver } from '@coll/strategy';
 *
 * // By default, the variables are those of this process.
 * const variables = { RANK: '1', WORLD_SIZE: '4', MASTER_ADDR: 'host0', MASTER_PORT: '4000' };
 * const { membership, taskId } = new EnvironmentClusterResolver({ variables });
 * console.log(membership.launcher, membership.size, taskId); // torchrun 4 1
 * ```
 */
export class EnvironmentClusterResolver extends ClusterResolver {
  /** The membership of this process, including the launcher that reported it. */
  readonly membership: Membership;
  /** The environment variables that were read. */
  readonly variables: Environment;
  readonly rpcLayer = undefined;

  /**
   * @throws RuntimeError if no launcher set its variables, or the number of members is missing;
   * ValueError for invalid variables
   */
  constructor(options?: EnvironmentOptions) {
    super();
    const given = optionsOf(options, '{ statefulSetService }', environmentOptions);
    const { variables = processEnvironment(), statefulSetService } = given;
    const found = membershipFrom(variables, statefulSetService);
    if (!found) throw new RuntimeError('ERR_COLL_CLUSTER', reasonForNone(variables));
    if (found.size === undefined) {
      const message = `${found.launcher} does not say how many members there are`;
      throw new RuntimeError('ERR_COLL_CLUSTER', `${message}: set COLL_SIZE to their number`);
    }
    this.membership = found;
    this.variables = variables;
  }

  get taskType(): string {
    return 'worker';
  }

  get taskId(): number {
    return this.membership.rank;
  }

  override get environment(): string {
    return this.membership.launcher;
  }

  clusterSpec(): ClusterSpec {
    const { size = 0, addresses, coordinator = '' } = this.membership;
    const worker = addresses ?? Array.from({ length: size }, (_, rank) => (rank === 0 ? coordinator : ''));
    return new ClusterSpec({ worker });
  }

  master(options?: TaskOptions): string {
    const { taskType = this.taskType, taskId = this.taskId } = taskOptions(options);
    return this.clusterSpec().taskAddress(taskType, taskId);
  }

  numAccelerators(): Accelerators {
    return {};
  }
}

function reasonForNone(variables: Environment): string {
  const tfConfig = new TFConfigClusterResolver({ variables });
  if (!tfConfig.clusterSpec().isEmpty) {
    const message = `TF_CONFIG describes this task as ${tfConfig.taskType} ${tfConfig.taskId}, which is not a member of the group`;
    return `${message}: only the chief and the workers are. To read its cluster, use a TFConfigClusterResolver`;
  }
  const message = `no environment variables of a launcher are set; checked: ${launchers.map(({ name }) => name).join(', ')}`;
  if (variables['SLURM_PROCID'] === undefined)
    return `${message}; start the program with a launcher, such as coll run -n 2`;
  return `${message}. A Slurm batch script is a single process: start its steps with srun`;
}
