import type { Collective, Communicator, DType } from '@coll/core';
import type { Algorithm } from '@coll/core/schedule';
import type { PackedCall } from './packed-call.js';
import type { ModuleExport } from './suite-algorithm.js';

/** Which member of which group a process or one of its threads is to become. */
export interface Seat {
  /** The number of the group among all that were opened: each has another one. */
  readonly group: number;
  readonly member: number;
  readonly members: number;
  /** Ranks in the group, which members may have several of. */
  readonly size: number;
  /** What it plays; absent where the suite names none. */
  readonly algorithm: Algorithm | undefined;
  /** Those of `ProcessRanksOptions.join`. */
  readonly options: unknown;
}

/** A member of a group, as the function that joined it hands it over. */
export interface Joined {
  readonly communicator: Communicator;
  /** Leaves the group, once the communicator is closed. */
  leave(): Promise<void>;
}

/** Becomes a member of a group, when all others do the same. */
export type Join = (seat: Seat) => Joined | Promise<Joined>;

/** What a process, or one of its threads, is asked for. */
export type SeatRequest =
  | {
      readonly type: 'join';
      readonly join: ModuleExport;
      readonly source: ModuleExport | undefined;
      readonly seat: Omit<Seat, 'algorithm' | 'options'>;
    }
  | { readonly type: 'refuses'; readonly group: number; readonly collective: Collective; readonly dtype: DType }
  | { readonly type: 'play'; readonly group: number; readonly calls: readonly PackedCall[] }
  | { readonly type: 'close'; readonly group: number };
