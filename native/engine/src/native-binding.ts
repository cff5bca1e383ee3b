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
import type { ThresholdList } from './thresholds.js';

/** Status codes that `execute` returns, in the order of the C++ enum `Status`. */
export const status = {
  done: 0,
  /** A rank has not arrived: check that the group has not failed, and call `execute` again. */
  waiting: 1,
  /**
   * The event loop of another rank waits for this rank: wake that event loop, and call `execute`
   * again.
   */
  notify: 2,
  /** A part of the collective is done: let other code run, and call `execute` again. */
  slice: 3,
  failed: 4,
  disagreed: 5,
  clashed: 6,
  /** Not all ranks arrived in time. */
  expired: 7,
} as const;

/**
 * Version of the addon's exports and of the integer format of schedules; must equal the version in
 * `cpp/addon`.
 */
export const nativeInterface = 19;

/** How long `execute` may wait for other ranks, in the order of the C++ enum `Wait`. */
export const waiting = {
  /** Waits without a limit, but `execute` returns every few tens of milliseconds. */
  blocking: 0,
  /** Waits so briefly that the event loop is not delayed noticeably. */
  brief: 1,
  /** Sleeps up to two milliseconds; for use after a brief wait was too short. */
  patient: 2,
} as const;

/**
 * The addon, as exported by `cpp/addon`. Arrays are read in place, not copied. Before each call
 * that reads or writes arrays, the caller must check that they are not detached and have their
 * original length.
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
   * Like `offer`, but reuses the handle of a call that has ended and whose data other ranks no
   * longer read.
   */
  refillOffer(handle: OfferHandle, ...offering: Offering): void;
  /**
   * Joins a group. `arrival` contains this rank's arrival count, and the number of event loops that
   * wait for this rank.
   */
  join(
    board: Uint8Array,
    failure: Int32Array,
    arrival: Int32Array,
    rank: number,
    ranks: number,
    cores: number,
    thresholds: ThresholdList,
  ): MemberHandle;
  execute(member: MemberHandle, offer: OfferHandle, wait: number): number;
  /** Drops the member's current collective after its group has failed. */
  abandon(member: MemberHandle): void;
  /** The arrival count of this rank's latest synchronization. */
  meeting(member: MemberHandle): number;
  isMissing(member: MemberHandle, rank: number): boolean;
  /**
   * Call this after the status `clashed`. Returns the two ranks whose memory overlaps; undefined if
   * instead the buffers of the ranks are split into different pieces.
   */
  clash(member: MemberHandle): Clash | undefined;
  offersOfAll(...offering: OfferingOfAll): OffersHandle | Clash;
  /**
   * Like `offersOfAll`, but reuses the handle of a call that has ended. Returns undefined on
   * success.
   */
  refillOffersOfAll(handle: OffersHandle, ...offering: OfferingOfAll): Clash | undefined;
  /** `helpers`: how many threads of this process may help the calling thread. */
  controller(ranks: number, helpers: number, thresholds: ThresholdList): ControllerHandle;
  /**
   * Executes a part of the collective from element `begin` on. Returns the index of the first
   * element after the part.
   */
  control(controller: ControllerHandle, offers: OffersHandle, begin: number): number;
  close(controller: ControllerHandle): void;
  /**
   * Measures the thresholds of this machine with two threads, for up to 30 ms. Undefined if other
   * programs take the cores meanwhile.
   */
  calibrate(): ThresholdList | undefined;
  /**
   * Why the system refuses a segment of shared memory, and the call that reads the memory of another
   * process; empty texts if it allows them. Undefined on platforms without groups of processes.
   */
  probeHost?(): [sharedMemory: string, memoryAccess: string];
  /** Random, equal for all threads of the process; undefined on platforms without mapped records. */
  readonly processName?: string;
  /**
   * Creates a file for this user only, reserves its space and maps it. The memory is the record of
   * this thread from now on: native code stamps its calls, and a thread of the process writes a
   * pulse to it once a second. Undefined on platforms without mapped records.
   * @throws Error with the reason if that fails
   */
  mapRecord?(path: string): ArrayBuffer;
  /** Does the same with memory that the caller keeps as long as the thread exists. */
  attachRecord?(memory: Int32Array): void;
  /**
   * The functions with which `@coll/processes` communicates between processes; undefined on
   * platforms without them. `sealing`: the TLS suite that this processor prefers, and the reason if
   * the runtime cannot encrypt connections, otherwise an empty text.
   */
  readonly processes?: { sealing(): readonly [cipher: string, problem: string] };
}
