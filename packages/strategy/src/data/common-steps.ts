import { asTensor, InternalError, type Structure, UnavailableError, ValueError } from '@coll/core';
import { messageOf } from '@coll/core/internal';
import type { EmptySteps } from './empty-steps.js';
import type { Agreement } from './read-ahead.js';
import type { Readers } from './readers.js';

type Step = IteratorResult<Structure<unknown>, undefined>;

export interface CommonStepsOptions {
  readonly readers: Readers;
  /** Number of readers. */
  readonly count: number;
  /** Index of this reader. */
  readonly index: number;
  /** The steps of this reader after its source has ended. */
  readonly empty: EmptySteps;
  /** Whether all readers are known to have equally many steps, so that they meet only at the end. */
  readonly equalSteps: boolean;
}

/**
 * Lets the readers of a dataset end each reading together. In each step they exchange 16 bytes:
 * whether they have a step, and its number. Readers whose source has ended get empty steps until
 * those of all readers have.
 */
export class CommonSteps implements Agreement<Structure<unknown>> {
  readonly #options: CommonStepsOptions;
  /** Number of this reading. 0 before its first meeting. */
  #reading = 0;
  #step = 0;
  #isOver = false;

  constructor(options: CommonStepsOptions) {
    this.#options = options;
  }

  agree(own: Promise<Step>): Promise<Step> {
    const { readers, equalSteps } = this.#options;
    if (!equalSteps) return readers.inOrder(() => this.#meet(own));
    return own.then((step) => {
      if (!step.done) this.#step += 1;
      return step.done && !this.#isOver ? readers.inOrder(() => this.#meet(own)) : step;
    });
  }

  refuse(error: unknown): void {
    this.#options.readers.refuse(error);
  }

  close(): void {
    this.#isOver = true;
    this.#options.empty.close();
  }

  async #meet(own: Promise<Step>): Promise<Step> {
    const [read] = await Promise.allSettled([own]);
    if (this.#isOver) return over;
    const { readers, empty } = this.#options;
    this.#reading ||= readers.nextReading();
    this.#step += 1;
    const isFailed = read.status === 'rejected';
    const hasStep = !isFailed && !read.value.done;
    const isInNeed = !isFailed && !hasStep && !empty.canBeMade;
    const number = (this.#reading % mostReadings) * mostSteps + (this.#step % mostSteps);
    const state = isFailed ? failed : hasStep ? going : ended;
    // The maximum of -number is the lowest number, so that all readers see whether numbers differ.
    const [high, low] = await this.#max(Float64Array.of(4 * number + state, -4 * number + (isInNeed ? 1 : 0)));
    const [highest, lowest] = [Math.floor(high / 4), -Math.floor(low / 4)];
    if (highest !== lowest) throw this.#outOfStep(highest === number ? lowest : highest);
    const stateOfAll = high % 4;
    if (stateOfAll === failed) throw await this.#failure(read);
    if (stateOfAll === ended) return over;
    if (low % 4 !== 0) await this.#describe(isInNeed);
    return hasStep ? (read.value as Step) : { done: false, value: empty.make() };
  }

  /** The error of this reader, or one that contains that of the first reader that has failed. */
  async #failure(read: PromiseSettledResult<Step>): Promise<unknown> {
    const { readers } = this.#options;
    const isOwn = read.status === 'rejected';
    const first = await this.#fromFirst(isOwn ? messageOf(read.reason).slice(0, longestMessage) : undefined, false);
    if (isOwn) return read.reason;
    const message = `${readers.what} ${first?.from} cannot read its step ${this.#step}: ${first?.text}`;
    return new UnavailableError('ERR_COLL_PEER_FAILED', message, { rank: first?.from, operation });
  }

  /**
   * Lets readers that have read no element get the structure of those that have.
   * @throws ValueError, on all readers, if empty steps of this structure cannot be made
   */
  async #describe(isInNeed: boolean): Promise<void> {
    const { readers, empty } = this.#options;
    const described = await this.#fromFirst(empty.description, isInNeed);
    const refused = described && empty.learnFrom(described.text);
    if (refused === undefined) return;
    throw new ValueError(
      'ERR_COLL_VALUE',
      `${readers.what} ${described?.needing} has no element for step ${this.#step} and needs an empty one: ${refused}`,
      { operation },
    );
  }

  /**
   * Sends the text of the first reader that has one to all readers. Also returns the last reader
   * that is in need.
   */
  async #fromFirst(own: string | undefined, isInNeed: boolean) {
    const { count, index } = this.#options;
    const bytes = new TextEncoder().encode(own);
    const offer = own === undefined ? 0 : (count - index) * mostBytes + bytes.length;
    const [best, needing] = await this.#max(Float64Array.of(offer, isInNeed ? index + 1 : 0));
    const from = count - Math.floor(best / mostBytes);
    const text = new Uint8Array(best % mostBytes);
    if (from === index) text.set(bytes);
    const largest = (await this.#options.readers.max(text)) as Uint8Array;
    return { from, needing: needing - 1, text: new TextDecoder().decode(asTensor(largest).data as Uint8Array) };
  }

  async #max(numbers: Float64Array): Promise<readonly [number, number]> {
    return asTensor(await this.#options.readers.max(numbers)).data as unknown as readonly [number, number];
  }

  #outOfStep(other: number): InternalError {
    const { readers, index, equalSteps } = this.#options;
    const [reading, step] = [Math.floor(other / mostSteps), other % mostSteps];
    const who = `${readers.what} ${index}`;
    if (equalSteps && reading === this.#reading % mostReadings) {
      const message = `${who} has ${this.#step - 1} steps in this epoch, another ${readers.what} has ${step - 1}`;
      return new InternalError('ERR_COLL_MISMATCH', `${message}: omit equalSteps`, { operation });
    }
    const message = `${who} requests step ${this.#step} of reading ${this.#reading}, another ${readers.what} requests step ${step} of reading ${reading}`;
    const advice = `all ${readers.what}s must read the same datasets in the same order, and leave a loop after the same step`;
    return new InternalError('ERR_COLL_MISMATCH', `${message}; ${advice}`, { operation });
  }
}

const over: IteratorResult<never, undefined> = { done: true, value: undefined };
const operation = 'input';

// The states of a reader. The highest one of all readers counts.
const ended = 0;
const going = 1;
const failed = 2;

// Number of reading, number of step and state fit into the 53 bits of a float64.
const mostReadings = 2 ** 19;
const mostSteps = 2 ** 32;
const mostBytes = 2 ** 32;

// Characters of another reader's error.
const longestMessage = 2000;
