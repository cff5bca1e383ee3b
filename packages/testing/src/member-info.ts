import type { Collective, Communicator, DType } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import type { PackedCall } from './packed-call.js';
import type { ModuleExport } from './suite-algorithm.js';

/** What a process, or one of its threads, needs to know in order to join a group as a member. */
export interface MemberInfo {
  /** A number that identifies the group among all groups that were opened. */
  readonly group: number;
  readonly member: number;
  readonly members: number;
  /** Number of ranks in the group; a member may have several of them. */
  readonly size: number;
  /** The algorithm to execute; undefined if the executor has its own algorithm. */
  readonly algorithm: Algorithm | undefined;
  /** The field `options` of `ProcessRanksOptions.join`. */
  readonly options: unknown;
}

/** A member of a group, as returned by the function that joined it. */
export interface Joined {
  readonly communicator: Communicator;
  /** Leaves the group; called after the communicator is closed. */
  leave(): Promise<void>;
}

/** A function that joins a group as one of its members. All members join at the same time. */
export type Join = (info: MemberInfo) => Joined | Promise<Joined>;

/** A request to a process or one of its threads. */
export type MemberRequest =
  | {
      readonly type: 'join';
      readonly join: ModuleExport;
      readonly source: ModuleExport | undefined;
      readonly info: Omit<MemberInfo, 'algorithm' | 'options'>;
    }
  | { readonly type: 'refuses'; readonly group: number; readonly collective: Collective; readonly dtype: DType }
  | { readonly type: 'execute'; readonly group: number; readonly calls: readonly PackedCall[] }
  | { readonly type: 'close'; readonly group: number };
