import { status } from '@coll/native/addon';

/**
 * Maximum duration of a slice, in milliseconds. A slice is a part of a call that runs without
 * returning to the event loop.
 */
export const sliceMillis = 1;
/**
 * The shortest timeout in milliseconds to pass to the engine. Not 0, which the engine interprets as
 * no limit.
 */
export const leastMillis = 0.001;
/**
 * Milliseconds to poll without progress before returning to the event loop. Other members usually
 * answer sooner, unless they are busy with other work.
 */
export const patienceMillis = 0.05;

// Cost of moving a call to the group's thread: two wake-ups, plus copying inputs to memory that the
// thread can use and results back.
const wakingMillis = 0.1;
const copiedBytesPerMilli = 8e6;
// A program whose event loop turns take longer is busy with other work.
const busyMillis = 4;
// A call is moved once a delay has lasted this many times as long as the move takes. Waiting costs
// only polls, while moving a large call delays its result. If every call has new arrays of 16 MiB,
// garbage collection on other members often takes as long as one move.
const patienceInMoves = 3;

/**
 * Timing of a call that is executed in slices, between which the event loop runs. Decides when the
 * group's background thread should take over the call.
 */
export class CallTiming {
  readonly #begun = performance.now();
  readonly #copiedBytes: number;
  #left = this.#begun;
  #isWaiting = false;
  #waiting = 0;
  #away = 0;

  /**
   * Starts the timing of a call. `copiedBytes`: number of bytes to copy if the group's background
   * thread takes over the call.
   */
  constructor(copiedBytes: number) {
    this.#copiedBytes = copiedBytes;
  }

  /**
   * Records that the call pauses to let the event loop run. `answer`: the status that the native
   * call returned.
   */
  leave(answer: number): void {
    this.#left = performance.now();
    this.#isWaiting = answer === status.waiting;
    if (this.#isWaiting) this.#waiting += patienceMillis;
  }

  /** Records that the call continues after the event loop has run. */
  comeBack(): void {
    const away = performance.now() - this.#left;
    this.#away += away;
    if (this.#isWaiting) this.#waiting += away;
  }

  get elapsedMillis(): number {
    return performance.now() - this.#begun;
  }

  /**
   * Whether other members have kept the call waiting so long that it should move to the group's
   * background thread.
   */
  get isKeptWaiting(): boolean {
    return this.#waiting > patienceInMoves * leavingMillis(this.#copiedBytes);
  }

  /** Whether other work of this program has delayed the call, and with it the other members. */
  get wasLate(): boolean {
    return isBusy(this.#away - (this.elapsedMillis - this.#away), this.#copiedBytes);
  }
}

/**
 * Milliseconds that it takes to move a call with `copiedBytes` bytes to the group's background
 * thread.
 */
export function leavingMillis(copiedBytes: number): number {
  return wakingMillis + copiedBytes / copiedBytesPerMilli;
}

/**
 * Whether a program is so busy with other work that a call should move to the group's background
 * thread. `awayMillis`: milliseconds after which the event loop resumed the call. `copiedBytes`:
 * the bytes to copy then.
 */
export function isBusy(awayMillis: number, copiedBytes: number): boolean {
  return awayMillis > Math.max(busyMillis, patienceInMoves * leavingMillis(copiedBytes));
}
