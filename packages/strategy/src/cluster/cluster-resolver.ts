import { knownOptions, optionsOf } from '@coll/core/internal';
import type { ClusterSpec } from './cluster-spec.js';

/** Devices of a task by type, such as `{ GPU: 2 }`. */
export type Accelerators = Readonly<Record<string, number>>;

/** A task, and how it is addressed: of a resolver, that of this process; of a question, the one that is asked for. */
export interface TaskOptions {
  /** The job, such as `worker`. Default: what the resolver knows of this process. */
  readonly taskType?: string | undefined;
  /** The number in the job, from 0. Default: what the resolver knows of this process. */
  readonly taskId?: number | undefined;
  /** The protocol that stands before addresses, as in `grpc://host:port`. Default: the resolver's own. */
  readonly rpcLayer?: string | undefined;
}

const knownTaskOptions = knownOptions<TaskOptions>('options of a task', {
  taskType: true,
  taskId: true,
  rpcLayer: true,
});

/** @throws ValueError for anything but options */
export function taskOptions(options: TaskOptions | undefined): Partial<TaskOptions> {
  return optionsOf(options, "{ taskType: 'worker', taskId: 0 }", knownTaskOptions);
}

/** Says which processes work together, at which addresses, and which of them this one is. */
export abstract class ClusterResolver {
  /** The name of this process's job, such as `worker`; undefined where nobody says. */
  abstract readonly taskType: string | undefined;
  /** The number of this process in its job. */
  abstract readonly taskId: number | undefined;
  abstract readonly rpcLayer: string | undefined;

  /** What the processes run in; empty where nothing is special. */
  get environment(): string {
    return '';
  }

  /** All tasks and their addresses; empty for a single process. */
  abstract clusterSpec(): ClusterSpec;

  /** The address of a task, for sessions of the original; empty where there is none. @throws ValueError for a task that is not there */
  abstract master(options?: TaskOptions): string;

  /** What a task has beside its CPUs. */
  abstract numAccelerators(options?: Pick<TaskOptions, 'taskType' | 'taskId'>): Accelerators;
}

/** `grpc://host:port`, or the address alone where there is no protocol. */
export function masterUrl(address: string, rpcLayer: string | undefined): string {
  return rpcLayer && address !== '' ? `${rpcLayer}://${address}` : address;
}
