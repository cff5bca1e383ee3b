import { describe, expect, it } from 'vitest';
import { deferred } from '../../test/deferred.js';
import { ReadAhead, type Steps } from './read-ahead.js';

/** A test double of a source of numbered steps, which delivers a step when the test releases it. */
class NumberedSteps implements Steps<number> {
  asked = 0;
  closed = 0;
  readonly discarded: number[] = [];
  readonly #given: PromiseWithResolvers<IteratorResult<number, undefined>>[] = [];

  next(): Promise<IteratorResult<number, undefined>> {
    return this.#step(this.asked++).promise;
  }

  give(...numbers: readonly number[]): void {
    for (const number of numbers) this.#step(number).resolve({ done: false, value: number });
  }

  fail(number: number, error: Error): void {
    this.#step(number).reject(error);
  }

  end(number: number): void {
    this.#step(number).resolve({ done: true, value: undefined });
  }

  async close(): Promise<void> {
    this.closed += 1;
    for (const step of this.#given) step.resolve({ done: true, value: undefined });
  }

  discard(step: number): void {
    this.discarded.push(step);
  }

  #step(number: number): PromiseWithResolvers<IteratorResult<number, undefined>> {
    for (let at = this.#given.length; at <= number; at++) this.#given.push(deferred());
    return this.#given[number] as PromiseWithResolvers<IteratorResult<number, undefined>>;
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const over = { done: true, value: undefined };

describe('reading ahead', () => {
  it.each([0, 1, 3])('reads up to %i steps before they are requested', async (size) => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, size);
    await settled();
    expect(steps.asked).toBe(0);
    steps.give(0, 1, 2, 3, 4, 5, 6, 7);
    expect(await ahead.next()).toEqual({ done: false, value: 0 });
    await settled();
    expect(steps.asked).toBe(1 + size);
    expect(await ahead.next()).toEqual({ done: false, value: 1 });
    await settled();
    expect(steps.asked).toBe(2 + size);
  });

  it('reads one step at a time', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 3);
    const asked = [ahead.next(), ahead.next()];
    await settled();
    expect(steps.asked).toBe(1);
    steps.give(0, 1);
    expect(await Promise.all(asked)).toEqual([0, 1].map((value) => ({ done: false, value })));
    await settled();
    expect(steps.asked).toBe(3);
    await ahead.return();
  });

  it('throws an error in place of the step that failed, and then ends', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 2);
    steps.give(0, 1);
    steps.fail(2, new Error('torn'));
    await ahead.next();
    await settled();
    expect(await ahead.next()).toEqual({ done: false, value: 1 });
    await settled();
    await expect(ahead.next()).rejects.toThrow('torn');
    expect(await ahead.next()).toEqual(over);
    expect(await ahead.return()).toEqual(over);
    expect(steps.closed).toBe(0);
  });

  it('ignores an error of a step that is never requested', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 1);
    steps.give(0);
    steps.fail(1, new Error('torn'));
    await ahead.next();
    await settled();
    expect(await ahead.return()).toEqual(over);
  });

  it('ends when its source ends, without a further read', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 2);
    steps.give(0);
    steps.end(1);
    const numbers: number[] = [];
    for await (const number of ahead) numbers.push(number);
    expect(numbers).toEqual([0]);
    expect(await ahead.next()).toEqual(over);
    expect([steps.asked, steps.closed]).toEqual([2, 0]);
  });

  it('closes its source once and discards unused steps', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 2);
    steps.give(0, 1, 2);
    await ahead.next();
    await settled();
    await ahead.return();
    await ahead.return();
    expect(steps.closed).toBe(1);
    expect(steps.discarded).toEqual([1, 2]);
    expect(await ahead.next()).toEqual(over);
  });

  it('closes a source that is being read, which cancels the read', async () => {
    const steps = new NumberedSteps();
    const ahead = new ReadAhead(steps, 1);
    steps.give(0);
    await ahead.next();
    await settled();
    expect(await ahead.return()).toEqual(over);
    expect([steps.closed, steps.asked, steps.discarded.length]).toEqual([1, 2, 0]);
  });

  it.each([
    ['a step', (steps: NumberedSteps) => steps.give(0), [0]],
    ['the end', (steps: NumberedSteps) => steps.end(0), []],
  ])('discards the steps that it has read if a check fails at %s', async (_, begin, discarded) => {
    const steps = new NumberedSteps();
    begin(steps);
    const ahead = new ReadAhead(steps, 0, {
      agree: () => Promise.reject(new Error('differs')),
      refuse: () => {},
      close: () => {},
    });
    await expect(ahead.next()).rejects.toThrow('differs');
    expect(steps.discarded).toEqual(discarded);
    expect(await ahead.next()).toEqual(over);
  });

  it('agrees on each step that is requested, in order, and never on prefetched ones', async () => {
    const steps = new NumberedSteps();
    const agreed: unknown[] = [];
    const agree = async (own: Promise<IteratorResult<number, undefined>>) => {
      const step = await own;
      agreed.push(step.value);
      return step.done || step.value === 0 ? ({ done: false, value: -1 } as const) : step;
    };
    const ahead = new ReadAhead(steps, 2, { agree, refuse: () => {}, close: () => {} });
    steps.give(0, 1);
    steps.end(2);
    expect(await ahead.next()).toEqual({ done: false, value: -1 });
    await settled();
    expect([steps.asked, agreed]).toEqual([3, [0]]);
    expect(await Promise.all([ahead.next(), ahead.next(), ahead.next()])).toEqual(
      [1, -1, -1].map((value) => ({ done: false, value })),
    );
    expect(agreed).toEqual([0, 1, undefined, undefined]);
  });

  it('is closed at the end of a using block', async () => {
    const steps = new NumberedSteps();
    steps.give(0);
    {
      await using ahead = new ReadAhead(steps, 0);
      await ahead.next();
    }
    expect(steps.closed).toBe(1);
  });
});
