import { status } from '@coll/native/addon';

/** A slice: so long an event loop may be kept waiting while a call gets on. */
export const sliceMillis = 1;
/** The least time that a call is given: none would be for ever. */
export const leastMillis = 0.001;
/** So long while nothing comes: others are back from their event loops sooner, if they are not busy with something else. */
export const patienceMillis = 0.05;

// What leaving a call to the group's thread takes: waking it and being woken, and copying to where it can play, and back.
const wakingMillis = 0.1;
const copiedBytesPerMilli = 8e6;
// A program that lets its event loop wait for longer is busy with something else.
const busyMillis = 4;

/** How a call gets on that is played in slices, between turns of the event loop. It tells when the group's thread had better go on with it. */
export class CallTiming {
  readonly #begun = performance.now();
  /** Others are waited for as long as leaving the call to the group's thread costs. */
  readonly #mostWaiting: number;
  #left = this.#begun;
  #isWaiting = false;
  #waiting = 0;
  #away = 0;

  /** Of a call that begins now. `copiedBytes`: if the group's thread goes on with it. */
  constructor(copiedBytes: number) {
    this.#mostWaiting = leavingMillis(copiedBytes);
  }

  /** The call goes to the event loop, after such an answer. */
  leave(answer: number): void {
    this.#left = performance.now();
    this.#isWaiting = answer === status.waiting;
    if (this.#isWaiting) this.#waiting += patienceMillis;
  }

  /** It comes back from there. */
  comeBack(): void {
    const away = performance.now() - this.#left;
    this.#away += away;
    if (this.#isWaiting) this.#waiting += away;
  }

  get elapsedMillis(): number {
    return performance.now() - this.#begun;
  }

  /** Whether others have kept it waiting for long. */
  get isKeptWaiting(): boolean {
    return this.#waiting > this.#mostWaiting;
  }

  /** Whether the program has kept it, and so the others, waiting for long. */
  get wasLate(): boolean {
    return isBusy(this.#away - (this.elapsedMillis - this.#away));
  }
}

/** What it takes to leave a call to the group's thread of which so much is copied. */
export function leavingMillis(copiedBytes: number): number {
  return wakingMillis + copiedBytes / copiedBytesPerMilli;
}

/** Whether a program is busy with something else that came back from its event loop after such a time. */
export function isBusy(awayMillis: number): boolean {
  return awayMillis > busyMillis;
}
