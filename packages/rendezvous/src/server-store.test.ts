import { UnavailableError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { NoAnswer, ServerStore } from './server-store.js';
import { sameBytes } from './store.js';

const mine = Buffer.from('mine');
const theirs = Buffer.from('theirs');

/**
 * A store whose server loses its first answers. For each lost answer, one of `losses` first changes
 * the server's state.
 */
class LossyStore extends ServerStore {
  value: Uint8Array | undefined;
  puts = 0;
  readonly #losses: ((store: LossyStore) => void)[];
  readonly #isUnsent: boolean;

  constructor(losses: readonly ((store: LossyStore) => void)[], { isUnsent = false, outageSeconds = 10 } = {}) {
    super({ outageSeconds });
    this.#losses = [...losses];
    this.#isUnsent = isUnsent;
  }

  protected async put(_: string, value: Uint8Array): Promise<void> {
    this.#answer();
    this.puts += 1;
    this.value = value;
  }

  protected async peek(): Promise<Uint8Array | undefined> {
    this.#answer();
    return this.value;
  }

  protected async increase(): Promise<number> {
    this.#answer();
    return 1;
  }

  protected async swap(_: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    this.#answer();
    if (!sameBytes(this.value, expected)) return false;
    this.value = desired;
    return true;
  }

  protected async drop(): Promise<boolean> {
    this.#answer();
    return true;
  }

  #answer(): void {
    const loss = this.#losses.shift();
    if (!loss) return;
    loss(this);
    throw new NoAnswer('cut off', this.#isUnsent);
  }
}

const nothing = () => {};

describe('compareSet whose answer from the server was lost', () => {
  it.each<[string, (store: LossyStore) => void, boolean, Uint8Array]>([
    ['is repeated when nothing was written', nothing, true, mine],
    ['is true when the value was written', (store) => (store.value = mine), true, mine],
    ['is false when another value was written', (store) => (store.value = theirs), false, theirs],
  ])('%s', async (_, done, isWritten, value) => {
    await using store = new LossyStore([done, nothing]);
    expect([await store.compareSet('key', undefined, mine), store.value]).toEqual([isWritten, value]);
  });

  it('returns false if it was not sent and another member wrote the same value', async () => {
    await using store = new LossyStore([(self) => (self.value = mine)], { isUnsent: true });
    expect(await store.compareSet('key', undefined, mine)).toBe(false);
  });
});

describe('writes whose answer from the server was lost', () => {
  type Call = (store: LossyStore) => Promise<unknown>;
  const writes: readonly [string, Call][] = [
    ['set', (store) => store.set('key', mine)],
    ['add', (store) => store.add('key', 1)],
    ['delete', (store) => store.delete('key')],
  ];

  it.each(writes)('fail if they may have been executed: %s', async (operation, write) => {
    await using store = new LossyStore([nothing]);
    await expect(write(store)).rejects.toMatchObject({
      name: UnavailableError.name,
      operation,
      message: `${operation}: the store cannot be reached: cut off`,
    });
  });

  it.each(writes)('are repeated if they were not sent: %s', async (_, write) => {
    await using store = new LossyStore([nothing, nothing], { isUnsent: true });
    await write(store);
    expect(store.puts).toBeLessThan(2);
  });

  it.each<[string, Call]>([
    ...writes,
    ['get', (store) => store.get('key')],
    ['compare-set', (store) => store.compareSet('key', undefined, mine)],
  ])('fail without another attempt if outageSeconds is 0: %s', async (operation, call) => {
    await using store = new LossyStore([nothing], { isUnsent: true, outageSeconds: 0 });
    await expect(call(store)).rejects.toMatchObject({
      operation,
      cause: { message: 'cut off, tried for 0 seconds (outageSeconds)', cause: { message: 'cut off' } },
    });
  });
});

it('get is repeated if the answer of the server was lost', async () => {
  await using store = new LossyStore([nothing, (self) => (self.value = theirs)]);
  expect(await store.get('key')).toEqual(theirs);
});
