/** Internal API for this repository's packages of the same version. It may change in any release. */

export { release } from '@coll/core/internal';
export { jobKeyFromEnvironment, readJobKey } from './environment-key.js';
export { generationFromEnvironment, hostFromEnvironment, jobFromEnvironment } from './environment-store.js';
export { hostedStore, hostStore, listenForGroup } from './hosted-store.js';
export { howToSet, newJobKey, requireJobKey } from './job-key.js';
export { jobStore } from './job-store.js';
export { type LauncherStore, launcherStore } from './launcher-store.js';
export {
  collectiveLeader,
  idInCluster,
  isChief,
  type Task,
  validateCluster,
  workerCount,
} from './launchers/cluster-rules.js';
export { type ClusterDescription, ClusterSpec, type JobTasks } from './launchers/cluster-spec.js';
export { type Environment, processEnvironment } from './launchers/environment.js';
export { membershipFrom } from './launchers/environment-membership.js';
export { expandHostList, expandTaskCounts } from './launchers/host-list.js';
export { launchers } from './launchers/launchers.js';
export { type Membership, membersAreLocal } from './launchers/membership.js';
export { storePlace } from './launchers/store-place.js';
export { clusterOf, type TFConfig, taskIdOf, taskTypeOf, tfConfigFrom, withoutScheme } from './launchers/tf-config.js';
export { wholeNumber, wrongValue } from './launchers/wrong-value.js';
export { makeFolder } from './make-folder.js';
export { addressOf, isLoopback, reachableAddress } from './own-address.js';
export { claimPmi, holdLauncher } from './pmi/launcher-channel.js';
export { preSharedKeys } from './pre-shared-keys.js';
export { defaultStallSeconds, hasStallReader, stallReportsIn, stallSecondsFrom } from './stall.js';
export { requireStore } from './store.js';
