import type { ClusterResolver } from '../cluster/cluster-resolver.js';
import { type Environment, processEnvironment } from '../cluster/environment.js';
import { EnvironmentClusterResolver } from '../cluster/environment-cluster-resolver.js';
import { membershipFrom } from '../cluster/environment-membership.js';
import { TFConfigClusterResolver } from '../cluster/tf-config-cluster-resolver.js';

/** What `TF_CONFIG` says, or, where that is not set, whichever launcher left its variables. `coll run` comes before both. */
export function defaultResolver(variables: Environment = processEnvironment()): ClusterResolver {
  const isTold = variables['COLL_RANK'] || (!variables['TF_CONFIG'] && membershipFrom(variables));
  return isTold ? new EnvironmentClusterResolver({ variables }) : new TFConfigClusterResolver({ variables });
}
