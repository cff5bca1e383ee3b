import type {
  Clash,
  ControllerHandle,
  DealHandle,
  MemberHandle,
  OfferHandle,
  Offering,
  Pieces,
  ProgramHandle,
} from './handles.js';

/** What `play` answers; the order is that of `Status` in C++. */
export const status = {
  done: 0,
  /** Somebody is not there yet: look after the group, and call again. */
  waiting: 1,
  /** An event loop waits for this rank's arrival: wake it, and call again. */
  notify: 2,
  /** A part is done: let others run, and call again. */
  slice: 3,
  failed: 4,
  disagreed: 5,
  clashed: 6,
  /** Not everybody came in time. */
  expired: 7,
} as const;

/** Of the exports and of the integers of a program; the same number is in `cpp/addon`. */
export const nativeInterface = 6;

/** How long `play` may wait for others; the order is that of `Wait` in C++. */
export const waiting = {
  /** As long as it likes; it comes back every some ten milliseconds. */
  blocking: 0,
  /** As long as an event loop does not notice. */
  brief: 1,
  /** Two milliseconds, asleep: for those who have waited in vain. */
  patient: 2,
} as const;

/**
 * The addon, as `cpp/addon` exports it. Arrays are read where they are and not copied: they must stay alive, and be found to be
 * of the length that they had, before each call that plays with them.
 */
export interface NativeBinding {
  /** `nativeInterface`, of the binary. */
  readonly interface: number;
  /** The instructions in use. */
  readonly simd: string;
  boardBytes(ranks: number): number;
  program(words: Int32Array): ProgramHandle;
  offer(...offering: Offering): OfferHandle;
  /** `arrival`: the count of this rank, and of the event loops that wait for it. */
  join(
    board: Uint8Array,
    failure: Int32Array,
    arrival: Int32Array,
    rank: number,
    ranks: number,
    cores: number,
  ): MemberHandle;
  play(member: MemberHandle, offer: OfferHandle, wait: number): number;
  /** Forgets the collective under way, after the group has failed. */
  abandon(member: MemberHandle): void;
  /** The count that this rank arrives with. */
  meeting(member: MemberHandle): number;
  isMissing(member: MemberHandle, rank: number): boolean;
  /** What a `clashed` was about; undefined where the ranks' pieces differ. */
  clash(member: MemberHandle): Clash | undefined;
  deal(
    program: ProgramHandle,
    begins: Float64Array,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    sharesResult: boolean,
  ): DealHandle | Clash;
  controller(ranks: number, cores: number): ControllerHandle;
  /** Plays a part from element `begin` on; where it ended. */
  control(controller: ControllerHandle, deal: DealHandle, begin: number): number;
  close(controller: ControllerHandle): void;
  /** Groups of processes, as `@coll/processes` calls them; absent where the platform has none. */
  readonly processes?: object;
}
