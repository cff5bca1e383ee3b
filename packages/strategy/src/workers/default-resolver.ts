import { log } from '@coll/core/internal';
import { type Environment, membershipFrom, processEnvironment } from '@coll/rendezvous/internal';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { TFConfigClusterResolver } from '../cluster/tf-config-cluster-resolver.js';

/**
 * The resolver for `TF_CONFIG`, or for the variables of any launcher if `TF_CONFIG` is not set.
 * `coll run` takes precedence over both. Warns in a Slurm batch script.
 */
export function defaultResolver(variables: Environment = processEnvironment()): ClusterResolver {
  const { COLL_RANK, TF_CONFIG } = variables;
  if (TF_CONFIG && !COLL_RANK) {
    // Validates `TF_CONFIG` now, because the resolver reads it later and not all of its errors name
    // it.
    membershipFrom({ TF_CONFIG });
    log('info', 'MultiWorkerMirroredStrategy: the workers are read from TF_CONFIG');
    return new TFConfigClusterResolver({ variables });
  }
  if (membershipFrom(variables)) return new EnvironmentClusterResolver({ variables });
  warnInBatchScript(variables);
  return new TFConfigClusterResolver({ variables });
}

/**
 * Warns if this process is a Slurm batch script, whose variables, unlike those of a Slurm step, do
 * not make it a member.
 */
function warnInBatchScript(variables: Environment): void {
  if (!variables['SLURM_PROCID']) return;
  // srun starts one task per node, unless the job sets the number of tasks.
  const tasks = Number(variables['SLURM_NTASKS'] ?? variables['SLURM_JOB_NUM_NODES']);
  if (!(tasks > 1)) return;
  const message = `this is the batch script of a Slurm job of ${tasks} tasks, which is one worker by itself`;
  log('warn', `MultiWorkerMirroredStrategy: ${message}: start the program with srun`);
}
