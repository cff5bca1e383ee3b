import type { CommunicationOptionsInit } from '@coll/core';
import type { Task } from '@coll/rendezvous/internal';
import type { ClusterHome, PluginHome } from '../threads/thread-messages.js';
import type { WorkerConfig } from './open-worker-group.js';

/** A worker whose group a plug-in opens. Plain data that can be posted to a thread. */
export interface PluginSeat {
  readonly rank: number;
  readonly size: number;
  readonly plugin: PluginHome['plugin'];
}

/** Replicas of one worker among several. */
export interface WorkerHome extends ClusterHome {
  /** Undefined for a single worker. */
  readonly task: Task | undefined;
  /**
   * How this worker's first replica opens the group of all workers; undefined for a single worker.
   */
  readonly seat: WorkerConfig | PluginSeat | undefined;
  readonly communication: CommunicationOptionsInit;
  /** The plug-in to register as `nccl` in the thread. */
  readonly nccl: PluginHome['plugin'] | undefined;
}
