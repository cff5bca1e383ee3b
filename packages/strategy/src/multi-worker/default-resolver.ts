import { log } from '@coll/core/internal';
import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { type Environment, processEnvironment } from '../cluster/environment.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { membershipFrom } from '../cluster/environment-membership.js';
import { TFConfigClusterResolver } from '../cluster/tf-config-cluster-resolver.js';

/** What `TF_CONFIG` says, or, where that is not set, whichever launcher left its variables. `coll run` comes before both. Warns in a batch script of Slurm. */
export function defaultResolver(variables: Environment = processEnvironment()): ClusterResolver {
  const { COLL_RANK, TF_CONFIG } = variables;
  if (TF_CONFIG && !COLL_RANK) {
    // The resolver looks later, and its errors do not all name the variable.
    membershipFrom({ TF_CONFIG });
    log('info', 'MultiWorkerMirroredStrategy: TF_CONFIG says which workers there are');
    return new TFConfigClusterResolver({ variables });
  }
  if (membershipFrom(variables)) return new EnvironmentClusterResolver({ variables });
  warnInBatchScript(variables);
  return new TFConfigClusterResolver({ variables });
}

/** Of variables that make no member: those of a step of Slurm do. */
function warnInBatchScript(variables: Environment): void {
  if (!variables['SLURM_PROCID']) return;
  // srun starts one task a node, unless the job says how many.
  const tasks = Number(variables['SLURM_NTASKS'] ?? variables['SLURM_JOB_NUM_NODES']);
  if (!(tasks > 1)) return;
  const told = `this is the batch script of a Slurm job of ${tasks} tasks, which is one worker by itself`;
  log('warn', `MultiWorkerMirroredStrategy: ${told}: start the program with srun`);
}
