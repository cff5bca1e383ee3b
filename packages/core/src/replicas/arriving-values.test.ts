import { describe, expect, it } from 'vitest';
import { asValue } from '../sparse/sparse.js';
import { AbortedError, UnavailableError } from '../support/errors.js';
import { IndexedSlices, type Value } from '../values/indexed-slices.js';
import { tensor, zeros } from '../values/tensor.js';
import { type Arrival, isArriving, reduceArriving } from './arriving-values.js';

const never = new Promise<never>(() => {});

/** An arrival that records its calls in `log`. Each group is reduced when the test settles its entry in `groups`. */
function watched(options: Partial<Arrival> = {}) {
  const log: string[] = [];
  const groups: { resolve(): void; reject(error: unknown): void }[] = [];
  const arrival: Arrival = {
    rank: 3,
    bytesPerPack: 1,
    ready: (_, came) => asValue(came as Value),
    reduce: (indices, values) => {
      log.push(`reduce ${indices}`);
      return new Promise((resolve, reject) => groups.push({ resolve: () => resolve(values), reject }));
    },
    fail: (error) => log.push(`fail ${error.name}`),
    end: () => log.push('end'),
    ...options,
  };
  return { arrival, groups, log };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const outcome = (promise: Promise<unknown>) =>
  Promise.race([
    promise.then(
      () => 'there',
      (error: Error) => error,
    ),
    turn().then(() => 'open'),
  ]);

describe('isArriving', () => {
  it('finds promises in a structure', () => {
    expect([{ a: [Promise.resolve(1)] }, Promise.resolve(1), [1, Promise.resolve(2)]].every(isArriving)).toBe(true);
    expect([1, [], { a: zeros('int8', [2]) }].some(isArriving)).toBe(false);
  });
});

describe('reduceArriving', () => {
  it('ends the call before the last result resolves, whichever pack is reduced last', async () => {
    const { arrival, groups, log } = watched();
    const { results, ended } = reduceArriving([1, Promise.resolve(2), 3], arrival);
    void results[1]?.then(() => log.push('last result'));
    await turn();
    expect(log).toEqual(['reduce 2', 'reduce 1', 'reduce 0']);
    for (const group of [2, 0, 1]) groups[group]?.resolve();
    await ended;
    expect(log.slice(3)).toEqual(['end', 'last result']);
    expect((await Promise.all(results)).map((result) => 'data' in result && result.data[0])).toEqual([1, 2, 3]);
  });

  it('reduces values of a dtype together up to the pack size, last values first, sparse values at the end', async () => {
    const slices = () => new IndexedSlices(Float32Array.of(1), Int32Array.of(0));
    const floats = (count: number) => zeros('float32', [count]);
    const values = [floats(1), slices(), floats(2), zeros('int8', [1]), slices(), floats(3)];
    const { arrival, log } = watched({ bytesPerPack: 16 });
    reduceArriving(values, arrival);
    await turn();
    expect(log).toEqual(['reduce 2,5', 'reduce 3', 'reduce 0', 'reduce 1,4']);
  });

  it('reduces all values of a dtype together if packs have no limit', async () => {
    const { arrival, log } = watched({ bytesPerPack: 0 });
    reduceArriving([zeros('float32', [9]), tensor([1]), zeros('float32', [7])], arrival);
    await turn();
    expect(log).toEqual(['reduce 0,2', 'reduce 1']);
  });

  it('names the replica of a rejected promise, and the index of the value', async () => {
    const late = Promise.reject(new Error('burst'));
    expect(await outcome(reduceArriving([1, late], watched().arrival).ended)).toMatchObject({
      code: 'ERR_COLL_PEER_FAILED',
      rank: 3,
      operation: 'all-reduce',
      message: 'all-reduce: value 1 of replica 3 did not arrive: burst',
    });
    const reduce = () => Promise.reject(new Error('broke'));
    expect(await outcome(reduceArriving([1], watched({ reduce }).arrival).ended)).toMatchObject({
      code: 'ERR_COLL_PEER_FAILED',
      message: 'all-reduce: a value of replica 3 did not arrive: broke',
    });
  });

  it('resolves immediately for an empty list of values', async () => {
    const { arrival, log } = watched();
    const { results, ended } = reduceArriving([], arrival);
    await ended;
    expect([results, log]).toEqual([[], ['end']]);
  });

  it('rejects at once if the promise of a value rejects, even if later values never arrive', async () => {
    const { arrival, log } = watched();
    const cause = new Error('no memory');
    const { results, ended } = reduceArriving([Promise.reject(cause), never], arrival);
    for (const promise of [...results, ended]) {
      const error = await outcome(promise);
      expect(error).toBeInstanceOf(UnavailableError);
      expect(error).toMatchObject({
        code: 'ERR_COLL_PEER_FAILED',
        rank: 3,
        cause,
        message: expect.stringContaining('value 0 of replica 3'),
      });
    }
    expect(log).toEqual(['fail UnavailableError', 'end']);
  });

  it('rejects at once if the reduce of one pack fails, but keeps finished results', async () => {
    const { arrival, groups, log } = watched();
    const { results, ended } = reduceArriving([never, 1, 2], arrival);
    await turn();
    groups[0]?.resolve();
    const error = new AbortedError('ERR_COLL_ABORTED', 'another one gave up');
    groups[1]?.reject(error);
    expect(await Promise.all([...results, ended].map(outcome))).toEqual([error, error, 'there', error]);
    expect(log).toEqual(['reduce 2', 'reduce 1', 'fail AbortedError', 'end']);
  });

  it('refuses an invalid value', async () => {
    const { arrival, log } = watched();
    const { ended } = reduceArriving([Promise.resolve('text'), 1], arrival);
    expect(await outcome(ended)).toMatchObject({ name: 'ValueError' });
    expect(log).toEqual(['reduce 1', 'fail ValueError', 'end']);
  });

  it('rejects when the signal is aborted, also before the call', async () => {
    const controller = new AbortController();
    const { arrival, log } = watched({ signal: controller.signal });
    const { ended } = reduceArriving([never], arrival);
    controller.abort(new Error('enough'));
    expect(await outcome(ended)).toMatchObject({ name: 'AbortedError', message: expect.stringContaining('enough') });
    const again = reduceArriving([never, 1], arrival);
    expect(await outcome(again.ended)).toMatchObject({ name: 'AbortedError' });
    expect(log).toEqual(['fail AbortedError', 'end', 'fail AbortedError', 'end']);
  });
});
