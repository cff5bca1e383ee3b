import { describe, expect, it } from 'vitest';
import { purposes } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import { caughtNumber } from '../collectives/refusals.js';
import { scheduleOf } from '../schedule/compose.js';
import { ValueError } from '../support/errors.js';
import { bytesOfDescriptors, type Descriptor, Descriptors, nowhere, scheduleNumber } from './descriptors.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const usual: Descriptor = {
  collective: sum,
  dtype: 'float32',
  length: 8,
  schedule: 1,
  layout: 0,
  inputAt: nowhere,
  outputAt: nowhere,
  workAt: nowhere,
};

/** What ranks bring, as one of them sees it. */
function descriptorsOf(...ranks: readonly Partial<Descriptor>[]): Descriptors {
  const memory = new SharedArrayBuffer(bytesOfDescriptors(ranks.length));
  ranks.forEach((rank, index) => {
    new Descriptors(memory, ranks.length).write(index, { ...usual, ...rank });
  });
  return new Descriptors(memory, ranks.length);
}

it("descriptors store the addresses of each rank's memory, also beyond 32 bits", () => {
  const far = 2 ** 40;
  const seen = descriptorsOf({ inputAt: 64, outputAt: 128, workAt: 192 }, { inputAt: far, outputAt: nowhere });
  expect([0, 1].map((rank) => [seen.inputAt(rank), seen.outputAt(rank), seen.workAt(rank)])).toEqual([
    [64, 128, 192],
    [far, nowhere, nowhere],
  ]);
});

describe('mismatch()', () => {
  it('names the ranks with other shapes if nothing else differs', () => {
    expect(descriptorsOf({ layout: 1 }, { layout: 2 }, { layout: 1 }).mismatch()).toMatchObject({
      name: 'InvalidArgumentError',
      message: expect.stringContaining('rank 1 passes values of other shapes'),
      rank: 1,
    });
  });

  it('states how many values each rank passes if their numbers differ', () => {
    const messageFor = (...ranks: readonly Partial<Descriptor>[]) => {
      const odd = { layout: 3, length: 9, dtype: 'int8', schedule: 4 } as const;
      return descriptorsOf(...ranks.map((rank, index) => (index === 0 ? rank : { ...odd, ...rank }))).mismatch();
    };
    const lists = messageFor({ values: 2 }, { values: 3 });
    expect(lists).toMatchObject({ name: 'InvalidArgumentError', code: 'ERR_COLL_SHAPE_MISMATCH', rank: 1 });
    expect(lists?.message).toMatch(/: rank 0 passes a list of 2, rank 1 passes a list of 3; all ranks must/);
    expect(messageFor({}, { values: -4 })?.message).toContain(
      'rank 0 passes a single value, rank 1 passes a structure of 4',
    );
  });

  it('describes ranks by the names that it is given', () => {
    const names = ['0, 1', '2, 3', '4'];
    expect(descriptorsOf({}, { length: 9 }, {}).mismatch(names)).toMatchObject({
      rank: 1,
      message: expect.stringMatching(/elements on rank 0, 1, but all-reduce sum of 9 float32 elements on rank 2, 3$/),
    });
    expect(descriptorsOf({ layout: 1 }, {}, { layout: 1 }).mismatch(names)?.message).toMatch(
      /rank 2, 3 passes values of other shapes, or in another structure or order, than rank 0, 1/,
    );
  });

  it('reports different lengths or dtypes, and not the different schedules and layouts that they cause', () => {
    const other = { layout: 5, schedule: 6 };
    expect(descriptorsOf({}, { ...other, length: 9 }).mismatch()?.code).toBe('ERR_COLL_SHAPE_MISMATCH');
    expect(descriptorsOf({}, { ...other, dtype: 'int8' }).mismatch()?.code).toBe('ERR_COLL_DTYPE_MISMATCH');
    expect(descriptorsOf({}, other).mismatch()?.message).toMatch(/rank 1 passes values of other shapes/);
  });

  it.each<[string, Partial<Descriptor>, string]>([
    ['a gather', { collective: { kind: 'all-gather' }, purpose: 1, length: 1 }, 'all-gather of 1 float32 value'],
    ['several', { collective: { kind: 'all-gather' }, purpose: 1 }, 'all-gather of 8 values, the first of float32'],
    ['sparse values', { purpose: 2, length: 1 }, 'all-reduce of 1 sparse value'],
    ['the links', { purpose: 3, length: 0 }, 'a measurement of the links, before the first collective'],
  ])('describes the purpose of a collective: %s', (_, odd, message) => {
    expect(descriptorsOf({}, odd).mismatch()).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: expect.stringContaining(`but ${message} on rank 1;`),
    });
  });

  it('says that a replica has ended while others wait, whatever they wait in', () => {
    const end: Partial<Descriptor> = { purpose: purposes.indexOf('run end'), dtype: 'int16', length: 1 };
    expect(descriptorsOf({}, end).mismatch()).toMatchObject({
      ...{ code: 'ERR_COLL_MISMATCH', rank: 1, operation: 'all-reduce sum' },
      message: expect.stringContaining(
        'replica 1 has ended, replica 0 waits in all-reduce sum of 8 float32 elements: un',
      ),
    });
    const merge = { ...end, purpose: purposes.indexOf('merge') };
    expect(descriptorsOf(merge, end).mismatch()?.message).toContain('replica 0 waits in mergeCall');
  });

  it('names the rank that has refused more calls, before any other difference', () => {
    const refused = {
      refused: 1,
      caught: caughtNumber({ count: 1, latest: new ValueError('ERR_COLL_BUFFER', 'short') }),
    };
    expect(descriptorsOf({}, { ...refused, length: 9 }, {}).mismatch()).toMatchObject({
      ...{ name: 'UnavailableError', code: 'ERR_COLL_PEER_FAILED', rank: 1 },
      message: expect.stringContaining(
        'all-reduce sum: rank 1 caught ERR_COLL_BUFFER in a call that other ranks have made',
      ),
    });
    expect(descriptorsOf(refused, refused).mismatch()).toBeUndefined();
  });

  it('is undefined if all ranks make the same request, whatever their memory', () => {
    expect(descriptorsOf({ inputAt: 0 }, { inputAt: 64, outputAt: 5, workAt: 6 }, {}).mismatch()).toBeUndefined();
    expect(descriptorsOf({}).mismatch()).toBeUndefined();
  });

  it('of lengths returns an InvalidArgumentError that names the rank with another length', () => {
    expect(descriptorsOf({}, { length: 9 }, {}).mismatch()).toMatchObject({
      name: 'InvalidArgumentError',
      code: 'ERR_COLL_SHAPE_MISMATCH',
      rank: 1,
      operation: 'all-reduce',
      message:
        'Shape mismatch in the collective: ranks disagree: all-reduce sum of 8 float32 elements on rank 0, but all-reduce sum of 9 float32 elements on rank 1',
    });
  });

  it('of dtypes returns an InternalError with its own code', () => {
    expect(descriptorsOf({ dtype: 'int8' }, {}, {}).mismatch()).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_DTYPE_MISMATCH',
      rank: 0,
      message: expect.stringContaining('but all-reduce sum of 8 int8 elements on rank 0'),
    });
  });

  it.each<readonly [string, Partial<Descriptor>]>([
    ['kinds', { collective: { kind: 'all-gather' } }],
    ['ops', { collective: { kind: 'all-reduce', op: 'max' } }],
    ['lengths and dtypes', { length: 9, dtype: 'int8' }],
  ])('of %s returns an InternalError', (_, odd) => {
    expect(descriptorsOf({}, {}, odd).mismatch()).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_MISMATCH',
      rank: 2,
      message: expect.stringContaining('; all ranks must make the same calls in the same order'),
    });
  });

  it('of schedules alone reports that the ranks use different algorithms', () => {
    expect(descriptorsOf({}, {}, { schedule: 2 }).mismatch()).toMatchObject({
      name: 'InternalError',
      code: 'ERR_COLL_MISMATCH',
      rank: 2,
      message: expect.stringContaining('rank 2 uses another algorithm than rank 0 for all-reduce sum of 8 float32'),
    });
  });

  it('of roots names both roots', () => {
    const from = (root: number): Partial<Descriptor> => ({ collective: { kind: 'broadcast', root } });
    expect(descriptorsOf(from(0), from(0), from(2)).mismatch()).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: expect.stringMatching(/at root 0 on rank 0, but .* at root 2 on rank 2/),
    });
  });

  it('of variants names the variants', () => {
    const odd: Partial<Descriptor> = { collective: { ...sum, variant: 1 }, schedule: 2 };
    expect(descriptorsOf({}, odd).mismatch()).toMatchObject({
      code: 'ERR_COLL_MISMATCH',
      message: expect.stringMatching(
        /all-reduce sum of .* on rank 0, but all-reduce sum \(variant 1\) of .* on rank 1/,
      ),
    });
  });

  it('treats the request of most ranks as right, and names all other ranks', () => {
    const odd = { length: 9 };
    expect(descriptorsOf(odd, {}, {}, odd, {}).mismatch()).toMatchObject({
      rank: 0,
      message: expect.stringMatching(/of 8 float32 elements on rank 1, but .* on rank 0, .* on rank 3$/),
    });
    expect(descriptorsOf(odd, {}).mismatch()).toMatchObject({ rank: 1 });
  });
});

describe('overlap()', () => {
  const overlapOf = (...ranks: readonly Partial<Descriptor>[]) =>
    descriptorsOf(...ranks).overlap('all-reduce sum', 32, 32)?.message;

  it('is undefined if each rank uses its own memory', () => {
    expect(overlapOf({ inputAt: 0, outputAt: 32 }, { inputAt: 64, outputAt: 96 })).toBeUndefined();
    expect(overlapOf({ inputAt: 0, outputAt: 0 }, { inputAt: 32, outputAt: 32 })).toBeUndefined();
    expect(overlapOf({ inputAt: 0 }, { inputAt: 0, outputAt: 32 })).toBeUndefined();
    expect(overlapOf({}, {})).toBeUndefined();
  });

  it('of an output with the input or output of another rank returns a ValueError', () => {
    const message = 'all-reduce sum: one buffer was given twice';
    expect(overlapOf({ inputAt: 0 }, { outputAt: 31 })).toBe(
      `${message}: the output of rank 1 overlaps memory of rank 0`,
    );
    expect(overlapOf({ outputAt: 64 }, { outputAt: 40 })).toBe(
      `${message}: the output of rank 0 overlaps memory of rank 1`,
    );
    expect(descriptorsOf({ inputAt: 0 }, { outputAt: 0 }).overlap('x', 32, 32)).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_BUFFER',
      rank: 1,
      operation: 'x',
    });
  });
});

it('scheduleNumber depends on every part of a schedule', () => {
  const transfer = { from: 0, to: 1, chunk: 0, reduce: true };
  const schedules = [
    scheduleOf(2, 1, []),
    scheduleOf(3, 1, []),
    scheduleOf(2, 2, []),
    scheduleOf(2, 1, [[transfer]]),
    scheduleOf(2, 1, [[transfer, transfer]]),
    scheduleOf(2, 1, [[transfer], [transfer]]),
    ...[{ from: 1 }, { to: 0 }, { chunk: 1 }, { reduce: false }].map((other) =>
      scheduleOf(2, 1, [[{ ...transfer, ...other }]]),
    ),
  ];
  expect(new Set(schedules.map(scheduleNumber)).size).toBe(schedules.length);
  expect(scheduleNumber(scheduleOf(2, 1, [[{ ...transfer }]]))).toBe(scheduleNumber(scheduleOf(2, 1, [[transfer]])));
});
