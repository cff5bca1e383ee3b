import type {
  Clash,
  ControllerHandle,
  MemberHandle,
  OfferHandle,
  Offering,
  OfferingOfAll,
  OffersHandle,
  ProgramHandle,
} from './handles.js';

/** Results of `execute`, in the order of `Status` in C++. */
export const status = {
  done: 0,
  /** A rank has not arrived: check the group, and call again. */
  waiting: 1,
  /** Another rank's event loop waits for this rank's arrival: wake it, and call the function again. */
  notify: 2,
  /** A part is done: let other code run, and call again. */
  slice: 3,
  failed: 4,
  disagreed: 5,
  clashed: 6,
  /** Not all ranks arrived in time. */
  expired: 7,
} as const;

/** Version of the exports and of the integers of a program; must equal that in `cpp/addon`. */
export const nativeInterface = 9;

/** How long `execute` may wait for other ranks, in the order of `Wait` in C++. */
export const waiting = {
  /** No limit, but it returns every few tens of milliseconds. */
  blocking: 0,
  /** So briefly that the event loop is not delayed noticeably. */
  brief: 1,
  /** Two milliseconds, asleep; for use after unsuccessful waits. */
  patient: 2,
} as const;

/**
 * The addon, as exported by `cpp/addon`. Arrays are read in place, not copied. Before each call
 * that executes on them, the caller must check that they are alive and have their original length.
 */
export interface NativeBinding {
  /** The `nativeInterface` with which the binary was built. */
  readonly interface: number;
  /** The SIMD instructions in use. */
  readonly simd: string;
  boardBytes(ranks: number): number;
  program(words: Int32Array): ProgramHandle;
  offer(...offering: Offering): OfferHandle;
  /**
   * Like `offer`, but reuses the handle of a call that has ended and that other ranks no longer
   * read.
   */
  refillOffer(handle: OfferHandle, ...offering: Offering): void;
  /**
   * Joins a group. `arrival` holds this rank's arrival count and the number of event loops that
   * wait for it.
   */
  join(
    board: Uint8Array,
    failure: Int32Array,
    arrival: Int32Array,
    rank: number,
    ranks: number,
    cores: number,
  ): MemberHandle;
  execute(member: MemberHandle, offer: OfferHandle, wait: number): number;
  /** Drops the current collective after the group has failed. */
  abandon(member: MemberHandle): void;
  /** The arrival count of this rank's latest synchronization. */
  meeting(member: MemberHandle): number;
  isMissing(member: MemberHandle, rank: number): boolean;
  /**
   * The ranks whose memory overlaps, after the result `clashed`; undefined if the ranks' pieces
   * differ.
   */
  clash(member: MemberHandle): Clash | undefined;
  offersOfAll(...offering: OfferingOfAll): OffersHandle | Clash;
  /**
   * Like `offersOfAll`, but reuses the handle of a call that has ended. Returns undefined on
   * success.
   */
  refillOffersOfAll(handle: OffersHandle, ...offering: OfferingOfAll): Clash | undefined;
  controller(ranks: number, cores: number): ControllerHandle;
  /**
   * Executes a part of the collective from element `begin` on. Returns the element after the part.
   */
  control(controller: ControllerHandle, offers: OffersHandle, begin: number): number;
  close(controller: ControllerHandle): void;
  /** Groups of processes for `@coll/processes`; undefined if the platform has none. */
  readonly processes?: object;
}
