import { status } from '@coll/native/addon';

/** Length of a slice in milliseconds: the longest time that a call may block the event loop. */
export const sliceMillis = 1;
/** The shortest timeout in milliseconds to pass to the engine, which takes 0 as no limit. */
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

/**
 * Timing of a call executed in slices between turns of the event loop. Decides when the group's
 * thread should take over.
 */
export class CallTiming {
  readonly #begun = performance.now();
  /**
   * Milliseconds that other members may keep the call waiting: the time that moving it to the
   * group's thread takes.
   */
  readonly #mostWaiting: number;
  #left = this.#begun;
  #isWaiting = false;
  #waiting = 0;
  #away = 0;

  /** Starts the timing of a call. `copiedBytes`: bytes to copy if the group's thread takes over. */
  constructor(copiedBytes: number) {
    this.#mostWaiting = leavingMillis(copiedBytes);
  }

  /**
   * Records that the call now waits in the event loop. `answer`: the status that the native call
   * returned.
   */
  leave(answer: number): void {
    this.#left = performance.now();
    this.#isWaiting = answer === status.waiting;
    if (this.#isWaiting) this.#waiting += patienceMillis;
  }

  /** Records that the call resumes after a turn of the event loop. */
  comeBack(): void {
    const away = performance.now() - this.#left;
    this.#away += away;
    if (this.#isWaiting) this.#waiting += away;
  }

  get elapsedMillis(): number {
    return performance.now() - this.#begun;
  }

  /** Whether other members have kept the call waiting longer than moving it would take. */
  get isKeptWaiting(): boolean {
    return this.#waiting > this.#mostWaiting;
  }

  /**
   * Whether this program was busy with other work, which delayed the call and the other members.
   */
  get wasLate(): boolean {
    return isBusy(this.#away - (this.elapsedMillis - this.#away));
  }
}

/** Milliseconds it costs to move a call with `copiedBytes` to the group's thread. */
export function leavingMillis(copiedBytes: number): number {
  return wakingMillis + copiedBytes / copiedBytesPerMilli;
}

/**
 * Whether a program is busy with other work, given the milliseconds that its event loop took to
 * resume a call.
 */
export function isBusy(awayMillis: number): boolean {
  return awayMillis > busyMillis;
}
