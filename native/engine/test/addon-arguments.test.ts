import { directAlgorithm } from '@coll/direct';
import { listOf, nativeBinding, noMessages, Programs, status, usualThresholds } from '@coll/native/addon';
import { afterAll, describe, expect, it } from 'vitest';

// TypeScript would refuse most of what this hands over.
type Exports = Record<string, (...args: unknown[]) => unknown>;
/** Its name in messages, a right value, and wrong ones. */
type Argument = readonly [name: string, right: unknown, ...wrong: unknown[]];

const binding = nativeBinding();
const addon = binding as unknown as Exports;
const processes = binding.processes as Exports;
const allReduce = { kind: 'all-reduce', op: 'sum' } as const;
const shared = (bytes: number) => new Uint8Array(new SharedArrayBuffer(bytes));
const words = (count: number) => new Int32Array(new SharedArrayBuffer(4 * count));
const floats = (...values: number[]) => Float32Array.from(values);
const begins = Float64Array.of(0, 4);
const agreed = Float64Array.of(1);

const program = (ranks: number) =>
  new Programs(binding, directAlgorithm(), ranks, noMessages).find(allReduce, 'float32').handle;
const two = program(2);
// The addon keeps addresses only: the caller has to keep the arrays alive.
const input = [floats(1, 2, 3, 4)];
const output = [floats(0, 0, 0, 0)];
const offering = (of = two, rank = 0) => [of, rank, begins, input, output, false, agreed];
const offer = addon['offer']?.(...offering());
const board = shared(binding.boardBytes(2));
const sizes = listOf(usualThresholds);
const join = () => addon['join']?.(board, words(1), words(2), 0, 2, 1, sizes);
const member = join();
const controller = addon['controller']?.(2, 1, sizes);
const results = [floats(0, 0, 0, 0), floats(0, 0, 0, 0)];
const pieces = [[floats(1, 2, 3, 4)], [floats(5, 6, 7, 8)]];
const all = addon['offersOfAll']?.(two, begins, pieces, [[results[0]], [results[1]]], false);

/** None of them is a handle of the kind that is asked for; a member is a right one of its own only. */
const notA = (right: unknown) => [undefined, null, 1, 'handle', {}, right === two ? offer : two];
const handle = (name: string, right: unknown): Argument => [name, right, ...notA(right)];
const number = (name: string, right: number, ...wrong: unknown[]): Argument => [
  name,
  right,
  undefined,
  '1',
  NaN,
  ...wrong,
];
const flag = (name: string): Argument => [name, false, undefined, 0, 'false'];
const lists: Argument[] = [
  ['begins', begins, undefined, [0, 4], floats(0, 4), Float64Array.of(0), Float64Array.of(1, 4)],
  [
    'begins',
    begins,
    Float64Array.of(0, -4),
    Float64Array.of(0, 1.5),
    Float64Array.of(0, NaN),
    Float64Array.of(0, 3, 2),
  ],
];
const piecesOf = (name: string): Argument => {
  const wrong = [undefined, floats(1, 2, 3, 4), [], [floats(1, 2, 3)], [Float64Array.of(1, 2, 3, 4)], [[1, 2, 3, 4]]];
  return [name, [floats(1, 2, 3, 4)], ...wrong, [words(4)], [undefined], [floats(1, 2, 3, 4), floats(5)]];
};
const offered: Argument[] = [handle('program', two), number('rank', 0, -1, 2), lists[0] as Argument];
const offerEnd: Argument[] = [
  piecesOf('inputs'),
  piecesOf('outputs'),
  flag('sharesResult'),
  ['agreed', agreed, [1], words(1)],
];
const dealt = (name: string): Argument => [
  name,
  pieces,
  undefined,
  [],
  [[floats(1, 2, 3, 4)]],
  [[floats(1)], [floats(1)]],
  [1, 2],
];
const programWords: Argument = [
  'words',
  Int32Array.of(),
  undefined,
  [0],
  floats(0),
  Int32Array.of(),
  Int32Array.of(99, 0, 0, 1, 0, 1),
];

const thresholds: Argument = ['thresholds', sizes, undefined, 1, [], sizes.slice(1), Float64Array.from(sizes)];
const ofAll = [handle('program', two), lists[0] as Argument, dealt('inputs'), dealt('outputs'), flag('sharesResult')];

const calls: Record<string, Argument[]> = {
  boardBytes: [number('ranks', 2, 0, -1, 5000, 2 ** 32 + 1)],
  program: [programWords],
  offer: [...offered, ...offerEnd],
  refillOffer: [handle('offer', addon['offer']?.(...offering())), ...offered, ...offerEnd],
  'offer ': [...offered.slice(0, 2), lists[1] as Argument, ...offerEnd],
  join: [
    [
      'board',
      board,
      undefined,
      [],
      shared(board.length - 1),
      new Uint8Array(board.length),
      new Uint16Array(board.length),
    ],
    ['failure', words(1), undefined, words(0), new Int32Array(1), floats(0)],
    ['arrival', words(2), undefined, words(1), new Int32Array(2), floats(0, 0)],
    number('rank', 0, -1, 2),
    number('ranks', 2, 0, 5000),
    number('cores', 1, 0, -1),
    thresholds,
  ],
  execute: [handle('member', member), handle('offer', offer), number('wait', 1, -1, 3)],
  abandon: [handle('member', member)],
  meeting: [handle('member', member)],
  isMissing: [handle('member', member), number('rank', 0, -1, 2)],
  clash: [handle('member', member)],
  offersOfAll: ofAll,
  refillOffersOfAll: [
    handle('offers', addon['offersOfAll']?.(two, begins, pieces, [[results[0]], [results[1]]], false)),
    ...ofAll,
  ],
  controller: [number('ranks', 2, 0, 5000), number('helpers', 1, -1, 257), thresholds],
  control: [handle('controller', controller), handle('offers', all), number('begin', 0, -1, 0.5, 5)],
  close: [handle('controller', controller)],
};

describe.each(Object.entries(calls))('%s', (name, args) => refusesAllOf(addon, name, args));

function refusesAllOf(exports: Exports, name: string, args: readonly Argument[]) {
  const rights = args.map(([, right]) => right);
  const cases = args.flatMap(([argument, , ...wrong], index) => wrong.map((value) => ({ argument, index, value })));
  it.each(cases)('the addon refuses $value for $argument', ({ argument, index, value }) => {
    expect(() => exports[name.trim()]?.(...rights.with(index, value))).toThrow(
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(argument) }),
    );
  });
}

const typeError = (message: string) =>
  expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) });

describe('thresholds out of their ranges', () => {
  it.each([
    ['smallBytes', 0, 31],
    ['smallBytes', 0, 1985],
    ['blockBytes', 1, 16383],
    ['blockBytes', 1, 262145],
    ['streamedBytes', 2, -1],
    ['helpedBytes', 3, 2 ** 41],
    ['wakingBytes', 4, 0],
  ])('are refused: %s (number %i) of %d', (name, index, value) => {
    expect(() => addon['controller']?.(2, 1, sizes.with(index, value))).toThrow(typeError(name));
  });
});

describe('refilling the arrays of an offer', () => {
  it('makes a member that is still executing the earlier contents refuse the offer', () => {
    const alone = join();
    const again = addon['offer']?.(...offering());
    expect(addon['execute']?.(alone, again, 1)).toBe(status.waiting);
    addon['refillOffer']?.(again, ...offering());
    expect(() => addon['execute']?.(alone, again, 1)).toThrow(typeError('offer must be of this member'));
  });

  it('replaces them, unless the new arrays overlap', () => {
    const [first, second] = [floats(0, 0, 0, 0), floats(0, 0, 0, 0)];
    const again = addon['offersOfAll']?.(two, begins, pieces, [[results[0]], [results[1]]], false);
    expect(addon['refillOffersOfAll']?.(again, two, begins, pieces, [[first], [second]], false)).toBeUndefined();
    expect(addon['refillOffersOfAll']?.(again, two, begins, pieces, [[first], [first]], false)).toEqual([0, 1]);
    const hand = addon['controller']?.(2, 1, sizes);
    expect(addon['control']?.(hand, again, 0)).toBe(4);
    expect([...first, ...second]).toEqual([6, 8, 10, 12, 6, 8, 10, 12]);
    addon['close']?.(hand);
  });
});

describe('an offer made for another group', () => {
  it('is refused by a rank if made for another rank, group size or member', () => {
    const execute = (executed: unknown, by = member) => addon['execute']?.(by, executed, 1);
    for (const other of [offering(two, 1), offering(program(3))]) {
      expect(() => execute(addon['offer']?.(...other))).toThrow(typeError('offer must be of this member'));
    }
    expect(execute(offer)).toBe(status.waiting);
    expect(() => execute(addon['offer']?.(...offering()))).toThrow(typeError('offer must be of this member'));
    expect(() => execute(offer, join())).toThrow(typeError('offer must be of this member'));
    addon['abandon']?.(member);
  });

  it('is refused if made for another number of ranks', () => {
    expect(() => addon['control']?.(addon['controller']?.(3, 1, sizes), all, 0)).toThrow(
      typeError('offers must have as many'),
    );
  });

  it('does not prevent the ranks from executing a valid offer afterwards', () => {
    expect(addon['control']?.(controller, all, 0)).toBe(4);
    expect(results[0]).toEqual(floats(6, 8, 10, 12));
  });
});

describe.skipIf(!processes)('handles of process groups', () => {
  if (!processes) return;
  const one = program(1);
  const group = () => processes['group']?.(0, Int32Array.of(-1), [new Uint8Array()], [false], 1000, () => {});
  const [segment, info] = (processes['segment']?.(1 << 20, 1) ?? []) as [unknown, Uint8Array];
  const memory = processes['sharedMemory']?.(0, [segment]);
  const executing = group();
  processes['useSharedMemory']?.(executing, memory, 0, 1, 1, sizes);
  const idle = group();
  const other = group();
  processes['useSharedMemory']?.(other, memory, 0, 1, 1, sizes);
  afterAll(() => {
    for (const held of [executing, idle, other]) processes['stopGroup']?.(held);
  });

  const state = new Float64Array(14);
  // An all-reduce sum of float32 in one chunk and no rounds.
  const messagesOf = (ranks: number, rank: number) =>
    processes['messageProgram']?.(Int32Array.of(0, 0, 2, ranks, 0, 1, 0), rank);
  const messages = messagesOf(1, 0);
  const newCall = (of = one, rank = 0, withMessages?: unknown) =>
    processes['call']?.(...offering(of, rank), state, withMessages);
  const call = newCall();
  const local: Argument[] = [number('localRank', 0, -1, 1), number('localRanks', 1, 0, -1), number('cores', 1, -1)];
  const group1 = handle('group', executing);
  const call1 = handle('call', call);
  const timeout = number('timeoutMillis', 1);

  const called: Argument[] = [
    handle('program', one),
    number('rank', 0, -1, 1),
    lists[0] as Argument,
    ...offerEnd,
    ['state', state, undefined, [1], new Float64Array(13), new Float32Array(14)],
    ['message program', messages, null, 1, {}, two, ...(processes ? [messagesOf(2, 0), messagesOf(2, 1)] : [])],
  ];
  const processCalls: Record<string, Argument[]> = {
    segment: [number('maxBytes', 0, -1, 0.5, 2 ** 60), number('ranks', 1, -1, 1e6)],
    openSegment: [['info', info, undefined, [], info.slice(1), new Int8Array(info.length)], number('rank', 0, -1, 1e6)],
    hasMark: [handle('segment', segment), number('rank', 0, -1, 1e6)],
    makeRings: [handle('segment', segment), number('ranks', 1, -1, 1e6)],
    releaseSegment: [handle('segment', segment)],
    sharedMemory: [number('rank', 0, -1, 1), ['segments', [segment], undefined, [], segment]],
    'sharedMemory ': [number('rank', 0, 1), ['segment', [segment], [memory], [undefined]]],
    allocate: [handle('memory', memory), number('bytes', 8, -1, 0.5)],
    releaseMemory: [handle('memory', memory)],
    group: [
      number('rank', 0, -1, 1),
      ['sockets', Int32Array.of(-1), undefined, [-1], Int32Array.of(), floats(-1)],
      ['seals', [new Uint8Array()], undefined, [], [[]], [floats(1)], [new Uint8Array(63)]],
      ['checksummed', [false], undefined, [], [0]],
      number('silenceMillis', 1000, 0, -1),
      ['wake', () => {}, undefined, {}],
    ],
    useSharedMemory: [handle('group', idle), handle('memory', memory), ...local, thresholds],
    useMessages: [
      handle('group', idle),
      number('descriptor', 0, -1),
      ['hosts', ['::1'], undefined, [], [1], ['::1', '::1'], ['localhost']],
      ['ports', Int32Array.of(1), undefined, [1], Int32Array.of(), floats(1), Int32Array.of(-1), Int32Array.of(65_536)],
      ['tickets', [new Uint8Array()], undefined, [], [[]], [floats(1)], [new Uint8Array(63)], [new Uint8Array(64)]],
      ['sealed', [false], undefined, [], [0]],
      ['checksummed', [false], undefined, [], [0]],
      number('connectMillis', 0, -1, 0.5, 2 ** 31),
      ['rings', [undefined], undefined, [], [undefined, undefined]],
      number('generation', 0, -1, 0.5, 2 ** 32),
      ...local,
      flag('allShareCores'),
    ],
    crc32c: [number('crc', 0, -1, 0.5, 2 ** 32), ['bytes', new Uint8Array(1), undefined, [1], floats(1)]],
    takeSocket: [number('descriptor', 0, -1)],
    closeSocket: [number('descriptor', 0, -1)],
    listenForData: [['host', '::1', undefined, 1]],
    messageProgram: [programWords, number('rank', 0, -1, 5000)],
    call: called,
    refillCall: [handle('call', newCall()), ...called],
    executeCall: [group1, call1, timeout],
    tryCall: [group1, call1, number('patienceMicros', 1, -1), number('sliceMicros', 1, -1)],
    copiedBytes: [group1, call1],
    stage: [group1, call1],
    submit: [group1, call1, number('id', 0, -1, 0.5, 2 ** 32), timeout],
    finish: [group1, call1, flag('delivers')],
    failGroup: [
      group1,
      number('kind', 0, -1, 8),
      number('rank', 0, -2, 2 ** 21),
      ['ranks', new Int32Array(64), undefined, [], new Float64Array(1), new Int32Array(65)],
      ['text', '', undefined, 1, {}],
    ],
    leave: [group1, number('delayMillis', 0, -1, 2 ** 31)],
    ...Object.fromEntries(
      ['results', 'failure', 'missing', 'absent', 'states', 'tellOpened', 'unopened', 'hasParted', 'stopGroup'].map(
        (name) => [name, [group1]],
      ),
    ),
  };

  describe.each(Object.entries(processCalls))('%s', (name, args) => refusesAllOf(processes, name, args));

  it.each(['executeCall', 'tryCall', 'stage', 'submit'])('%s refuses a call created for another group', (name) => {
    const executedBy = (by: unknown, executed: unknown) => processes[name]?.(by, executed, 1000, 1000);
    expect(() => executedBy(executing, newCall(two, 0))).toThrow(typeError('call must be of this rank and group'));
    expect(() => executedBy(executing, newCall(two, 1))).toThrow(typeError('call must be of this rank and group'));
    expect(processes['executeCall']?.(executing, call, 1000)).toBe(status.done);
    expect(() => executedBy(other, call)).toThrow(typeError('call must be of this rank and group'));
    expect(() => executedBy(idle, newCall())).toThrow('has no executor yet');
  });

  it('allow a call to be refilled with new arrays, unless the new arrays overlap', () => {
    const again = newCall();
    const [input, output] = [floats(5, 6, 7, 8), floats(0, 0, 0, 0)];
    const refill = (of: Float64Array, inputs: unknown[], outputs: unknown[]) =>
      processes['refillCall']?.(again, one, 0, of, inputs, outputs, false, agreed, state);
    expect(refill(begins, [input], [output])).toBe(true);
    const half = floats(0, 0);
    expect(refill(Float64Array.of(0, 2, 4), [floats(1, 2), floats(3, 4)], [half, half])).toBe(false);
    expect(processes['executeCall']?.(executing, again, 1000)).toBe(status.done);
    expect(output).toEqual(input);
  });

  it('are refused by the addon after they were released', () => {
    const [released] = (processes['segment']?.(0, 1) ?? []) as [unknown];
    processes['releaseSegment']?.(released);
    expect(() => processes['sharedMemory']?.(0, [released])).toThrow('this segment was released');
    expect(() => processes['hasMark']?.(released, 0)).toThrow('this segment was released');
  });

  it('report what the system refuses', () => {
    // The systems on which tests run refuse neither.
    expect(binding.probeHost?.()).toEqual(['', '']);
  });

  it('allow only one executor per group', () => {
    expect(() => processes['useSharedMemory']?.(executing, memory, 0, 1, 1, sizes)).toThrow('already has an executor');
  });
});
