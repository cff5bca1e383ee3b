import { describe, expect, it } from 'vitest';
import { DatasetReader } from './dataset-reader.js';

async function readAll(dataset: unknown): Promise<unknown[]> {
  const reader = new DatasetReader(dataset);
  const elements: unknown[] = [];
  for (let read = await reader.next(); !read.done; read = await reader.next()) elements.push(read.value);
  return elements;
}

async function* later(...elements: readonly unknown[]) {
  for (const element of elements) {
    await new Promise((resolve) => setImmediate(resolve));
    yield element;
  }
}

const lazy = (...elements: readonly unknown[]) => ({
  iterator: async () => {
    const iterator = elements[Symbol.iterator]();
    return { next: async () => iterator.next() };
  },
});

describe('a dataset reader', () => {
  it.each([
    ['a list', [1, 2]],
    ['a list of promises', [Promise.resolve(1), 2]],
    ['a set', new Set([1, 2])],
    ['an async generator', later(1, 2)],
    ['a function', () => [1, 2]],
    ['an async function', async () => later(1, 2)],
    ['a generator function', () => [1, 2].values()],
    ['an async generator function', () => later(1, 2)],
    ['a lazy dataset', lazy(1, 2)],
    ['a function that returns a lazy dataset', () => lazy(1, 2)],
    ['a dataset of files', { files: ['1', '2'], read: (files: string[]) => files.map(Number) }],
    ['a dataset of files that are read later', { files: [1, 2], read: async (files: number[]) => later(...files) }],
    ['a promise', Promise.resolve([1, 2])],
  ])('reads %s', async (_, dataset) => {
    expect(await readAll(dataset)).toEqual([1, 2]);
  });

  it('opens the dataset at the first read, and anew for each reader', async () => {
    let opened = 0;
    const dataset = () => {
      opened += 1;
      return [opened];
    };
    const readers = [new DatasetReader(dataset), new DatasetReader(dataset)] as const;
    expect(opened).toBe(0);
    expect([await readers[0].next(), await readers[1].next()]).toEqual([
      { done: false, value: 1 },
      { done: false, value: 2 },
    ]);
  });

  it('reports that a generator can be read only once', async () => {
    const generator = later(1);
    await new DatasetReader(generator).next();
    await expect(new DatasetReader(generator).next()).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
    });
  });

  it.each([
    ['a number', 5],
    ['text', 'abc'],
    ['nothing', undefined],
    ['null', null],
    ['an object that is not iterable', {}],
    ['files without a read function', { files: ['a'] }],
    ['files that are not a list', { files: 'a', read: () => [] }],
    ['a function that returns nothing', () => undefined],
  ])('refuses %s', async (_, dataset) => {
    await expect(new DatasetReader(dataset).next()).rejects.toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
    });
  });

  it('knows whether the dataset gives its elements away, so that they may be disposed', async () => {
    for (const [dataset, givesAway] of [
      [[1], false],
      [lazy(1), true],
    ] as const) {
      const reader = new DatasetReader(dataset);
      await reader.next();
      expect(reader.givesAway).toBe(givesAway);
    }
  });
});

describe('closing a dataset reader', () => {
  function watched() {
    const events: string[] = [];
    async function* elements() {
      try {
        yield 1;
        yield 2;
      } finally {
        events.push('closed');
      }
    }
    return { events, read: () => new DatasetReader(() => elements()) };
  }

  it('closes the source once', async () => {
    const { events, read } = watched();
    const reader = read();
    await reader.next();
    await reader.close();
    await reader.close();
    expect(events).toEqual(['closed']);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  });

  it('does not open an unopened source', async () => {
    const { events, read } = watched();
    const reader = read();
    await reader.close();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    expect(events).toEqual([]);
  });

  it('does nothing after an error of the source', async () => {
    let returned = 0;
    const source = {
      [Symbol.iterator]: () => ({
        next: (): IteratorResult<number> => {
          throw new Error('torn');
        },
        return: (): IteratorResult<number> => {
          returned += 1;
          return { done: true, value: undefined };
        },
      }),
    };
    const reader = new DatasetReader(source);
    await expect(reader.next()).rejects.toThrow('torn');
    await reader.close();
    expect(returned).toBe(0);
  });

  it('happens automatically if a promise in a list rejects', async () => {
    let closed = false;
    function* promises() {
      try {
        yield Promise.reject(new Error('torn'));
      } finally {
        closed = true;
      }
    }
    await expect(new DatasetReader(promises()).next()).rejects.toThrow('torn');
    expect(closed).toBe(true);
  });

  it('takes effect even while the source is being opened, and the source is then never read', async () => {
    let asked = 0;
    const opening = Promise.resolve({
      iterator: async () => ({ next: async () => ({ done: false, value: asked++ }) }),
    });
    const reader = new DatasetReader(opening);
    const read = reader.next();
    await reader.close();
    expect([await read, asked]).toEqual([{ done: true, value: undefined }, 0]);
  });

  it('throws an error that the source throws when it is closed; abandon() ignores this error', async () => {
    async function* stubborn() {
      try {
        yield 1;
      } finally {
        // biome-ignore lint/correctness/noUnsafeFinally: a source that fails to tidy up
        throw new Error('stuck');
      }
    }
    const reader = new DatasetReader(stubborn());
    await reader.next();
    await expect(reader.close()).rejects.toThrow('stuck');
    const other = new DatasetReader(stubborn());
    await other.next();
    await other.abandon();
  });
});

describe('a dataset reader at its end', () => {
  it('neither reads nor closes a source that has ended', async () => {
    let asked = 0;
    let returned = 0;
    const iterator = {
      next: () => ({ done: asked++ === 1, value: asked }),
      return: () => {
        returned += 1;
        return { done: true, value: undefined };
      },
    };
    const reader = new DatasetReader({ [Symbol.iterator]: () => iterator });
    expect(reader.givesAway).toBe(false);
    expect([await reader.next(), await reader.next()]).toEqual([
      { done: false, value: 1 },
      { done: true, value: undefined },
    ]);
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    await reader.close();
    expect([asked, returned]).toEqual([2, 0]);
  });

  it('opens nothing once it is closed', async () => {
    const opened: number[] = [];
    const reader = new DatasetReader(() => [opened.push(1)]);
    await reader.close();
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    expect(opened).toEqual([]);
  });

  it('does not read again after the dataset has thrown an error', async () => {
    let asked = 0;
    const next = () => {
      asked += 1;
      throw new Error('torn');
    };
    const reader = new DatasetReader({ [Symbol.iterator]: () => ({ next }) });
    await expect(reader.next()).rejects.toThrow('torn');
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    expect(asked).toBe(1);
  });
});
