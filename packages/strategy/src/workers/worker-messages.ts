import type { CommunicationOptionsInit } from '@coll/core';
import type { Task } from '@coll/rendezvous/internal';
import type { ClusterSetup, PluginSetup } from '../threads/thread-messages.js';
import type { WorkerConfig } from './open-worker-group.js';

/** A worker whose group a plug-in opens. Plain data that can be posted to a thread. */
export interface PluginGroupConfig {
  readonly rank: number;
  readonly size: number;
  readonly plugin: PluginSetup['plugin'];
}

/** Replicas of one worker among several. */
export interface WorkerSetup extends ClusterSetup {
  /** Undefined for a single worker. */
  readonly task: Task | undefined;
  /**
   * How this worker's first replica opens the group of all workers; undefined for a single worker.
   */
  readonly groupConfig: WorkerConfig | PluginGroupConfig | undefined;
  readonly communication: CommunicationOptionsInit;
  /** The plug-in that makes the ops of the replica. Undefined: `CollectiveAllReduce`. */
  readonly crossDeviceOps: PluginSetup['plugin'] | undefined;
  /** The plug-in to register as `nccl` in the thread. */
  readonly nccl: PluginSetup['plugin'] | undefined;
}
