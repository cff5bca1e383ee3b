import { describe, expect, it } from 'vitest';
import { OneByOne } from './one-by-one.js';

/** A call that ends when it is told to. */
function controlled() {
  let end: (error?: Error) => void = () => {};
  const call = new Promise<void>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve());
  });
  return { call, end: (error?: Error) => end(error) };
}

describe('calls one by one', () => {
  it('begin at once where there are none before them, else when these have ended, however that was', async () => {
    const calls = new OneByOne();
    const begun: string[] = [];
    const first = controlled();
    const failing = calls.run(() => {
      begun.push('first');
      return first.call;
    });
    const second = calls.run(async () => {
      begun.push('second');
      return 2;
    });
    expect(begun).toEqual(['first']);
    expect(calls.latest).toBe(second);
    first.end(new Error('no luck'));
    await expect(failing).rejects.toThrow('no luck');
    expect(await second).toBe(2);
    expect(begun).toEqual(['first', 'second']);
    expect(calls.latest).toBeUndefined();
  });

  it('wait for one that has begun elsewhere', async () => {
    const calls = new OneByOne();
    const other = controlled();
    expect(calls.follow(other.call)).toBe(other.call);
    let hasBegun = false;
    const mine = calls.run(async () => {
      hasBegun = true;
    });
    await Promise.resolve();
    expect(hasBegun).toBe(false);
    other.end();
    await mine;
  });

  it('wait for a turn until it is given up, after which nothing is under way', async () => {
    const calls = new OneByOne();
    const turn = calls.takeTurn();
    const later = calls.takeTurn();
    await turn.begun;
    let isLater = false;
    void later.begun.then(() => {
      isLater = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isLater).toBe(false);
    turn.end();
    await later.begun;
    later.end();
    expect(calls.latest).toBeUndefined();
  });
});
