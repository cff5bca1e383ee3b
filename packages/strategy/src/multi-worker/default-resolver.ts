import { log } from '@coll/core';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { type Environment, processEnvironment } from '../cluster/environment.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { membershipFrom } from '../cluster/environment-membership.js';
import { TFConfigClusterResolver } from '../cluster/tf-config-cluster-resolver.js';

/** What `TF_CONFIG` says, or, where that is not set, whichever launcher left its variables. `coll run` comes before both. Warns in a batch script of Slurm. */
export function defaultResolver(variables: Environment = processEnvironment()): ClusterResolver {
  const isTold = variables['COLL_RANK'] || (!variables['TF_CONFIG'] && membershipFrom(variables));
  if (isTold) return new EnvironmentClusterResolver({ variables });
  if (isBatchOfMany(variables) && !variables['TF_CONFIG']) {
    const told = `this is the batch script of a Slurm job of ${variables['SLURM_NTASKS']} tasks, which is one worker by itself`;
    log('warn', `MultiWorkerMirroredStrategy: ${told}: start the program with srun`);
  }
  return new TFConfigClusterResolver({ variables });
}

function isBatchOfMany(variables: Environment): boolean {
  return Boolean(variables['SLURM_PROCID']) && !variables['SLURM_STEP_ID'] && Number(variables['SLURM_NTASKS']) > 1;
}
