import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { slice } from '../values/concatenate.js';
import { type DType, dtypes } from '../values/dtype.js';
import { type Tensor, zeros } from '../values/tensor.js';
import { refusedCollective, requireCall, requireCollective, requireCounts, validateBuffers } from './buffers.js';
import { type Collective, collectiveKinds, outputLength } from './collective.js';

const collectives: readonly Collective[] = [
  { kind: 'all-reduce', op: 'sum' },
  { kind: 'reduce', op: 'sum', root: 1 },
  { kind: 'broadcast', root: 1 },
  { kind: 'all-gather' },
  { kind: 'reduce-scatter', op: 'sum' },
];
const [allReduce, reduce, broadcast, allGather, reduceScatter] = collectives as readonly [
  Collective,
  Collective,
  Collective,
  Collective,
  Collective,
];
const both = [0, 1];

function floats(length: number, dtype: DType = 'float32'): Tensor {
  return zeros(dtype, [length]);
}

/** Inputs of 4 elements, and outputs of the length that the collective requires. */
function fitting(collective: Collective): { readonly inputs: Tensor[]; readonly outputs: Tensor[] } {
  const length = outputLength(collective, 4, 2);
  return { inputs: both.map(() => floats(4)), outputs: both.map(() => floats(length)) };
}

function check(
  collective: Collective,
  inputs: readonly Tensor[],
  outputs: readonly Tensor[],
  localRanks: readonly number[] = both,
): void {
  validateBuffers({ collective, size: 2, localRanks }, inputs, outputs);
}

function expectRefused(action: () => void, message: string, rank?: number): void {
  expect(thrown(action)).toMatchObject({
    name: 'ValueError',
    code: 'ERR_COLL_BUFFER',
    message: expect.stringContaining(message),
    ...(rank === undefined ? {} : { rank }),
  });
}

describe.each(collectives)('buffers of $kind', (collective) => {
  const { inputs, outputs } = fitting(collective);

  it('are accepted if their lengths and dtypes are right', () => {
    expect(() => check(collective, inputs, outputs)).not.toThrow();
    expect(() => check(collective, inputs.slice(1), outputs.slice(1), [1])).not.toThrow();
  });

  it('must be one input and one output per local rank', () => {
    expect(thrown(() => check(collective, inputs.slice(1), outputs))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining('1 inputs and 2 outputs for 2 local ranks'),
      operation: expect.stringContaining(collective.kind),
    });
    expect(() => check(collective, inputs, outputs, [0])).toThrow('2 inputs and 2 outputs for 1 local ranks');
  });

  it('must be tensors', () => {
    const broken = { ...floats(4), data: new Int8Array(4) };
    const receiver = 1;
    expectRefused(
      () => check(collective, inputs.with(receiver, broken), outputs),
      'the data of a float32 tensor must be a Float32Array, got ',
    );
    expectRefused(
      () => check(collective, inputs, outputs.with(0, broken)),
      'the data of a float32 tensor must be a Float32Array, got ',
    );
  });

  it('must not include an output of the wrong length or dtype', () => {
    const [{ data }] = outputs as [Tensor];
    const longer = floats(data.length + 1);
    expectRefused(() => check(collective, inputs, outputs.with(1, longer)), `must have ${data.length}`, 1);
    const wider = floats(data.length, 'float64');
    expectRefused(() => check(collective, inputs, outputs.with(1, wider)), 'output is float64, must be float32', 1);
  });

  it('must not share memory between outputs of two ranks, or with the input of another rank', () => {
    const [output] = outputs as [Tensor];
    if (collective !== reduce) {
      expectRefused(() => check(collective, inputs, [output, output]), 'one buffer was given twice');
    }
    const writer = collective === broadcast ? 0 : 1;
    const memory = floats(16);
    const crossed = slice(memory, 3, 3 + output.data.length);
    expectRefused(
      () => check(collective, inputs.with(1 - writer, slice(memory, 0, 4)), outputs.with(writer, crossed)),
      `the output of rank ${writer} overlaps memory of rank ${1 - writer}`,
      writer,
    );
  });

  it('may overlap as input and output of a rank, if each element overlaps only itself', () => {
    const whole = both.map(() => floats(collective === allGather ? 8 : 4));
    const block = collective === allGather ? 4 : 2;
    const own = whole.map((tensor, rank) => slice(tensor, rank * block, (rank + 1) * block));
    const places = collective === allGather ? own : whole;
    expect(() => check(collective, places, collective === reduceScatter ? own : whole)).not.toThrow();
  });

  it('must not overlap as input and output of a rank at an offset', () => {
    const memory = floats(16);
    const shifted = slice(memory, 1, 1 + outputLength(collective, 4, 2));
    expectRefused(
      () => check(collective, inputs.with(1, slice(memory, 0, 4)), outputs.with(1, shifted)),
      'overlaps its own input with an offset: an element may overlap only itself',
      1,
    );
  });
});

describe('validateBuffers', () => {
  it.each([allReduce, allGather, reduceScatter, reduce])(
    'refuses inputs that differ between ranks, for $kind',
    (collective) => {
      const { inputs, outputs } = fitting(collective);
      // The error names the rank whose input differs from the root's or, without a root, from rank 0's.
      const [odd, rank] = collective === reduce ? [inputs.with(0, floats(6)), 0] : [inputs.with(1, floats(6)), 1];
      expectRefused(() => check(collective, odd, outputs), 'input has 6 elements, others 4', rank);
      const wide = inputs.with(rank, floats(4, 'float64'));
      expectRefused(() => check(collective, wide, outputs), 'input is float64, others are float32', rank);
    },
  );

  it('refuses a scatter whose input is not divisible by the number of ranks', () => {
    const inputs = both.map(() => floats(5));
    expectRefused(
      () => check(reduceScatter, inputs, inputs),
      'the length of the input must be divisible by 2, the number of ranks, got 5 elements',
      0,
    );
  });

  it("checks only the root's output of a reduce", () => {
    const { inputs, outputs } = fitting(reduce);
    const untouched = outputs.with(0, floats(0, 'int8'));
    expect(() => check(reduce, inputs, untouched)).not.toThrow();
    expect(() => check(reduce, inputs, outputs.with(0, inputs[1] as Tensor))).not.toThrow();
  });

  it("checks only the root's input of a broadcast", () => {
    const { inputs, outputs } = fitting(broadcast);
    expect(() => check(broadcast, inputs.with(0, floats(0, 'int8')), outputs)).not.toThrow();
    expect(() => check(broadcast, inputs.with(0, outputs[1] as Tensor), outputs)).not.toThrow();
    expectRefused(() => check(broadcast, inputs.with(1, floats(3)), outputs), 'output has 4 elements, must have 3', 0);
    expectRefused(() => check(broadcast, inputs.with(1, floats(4, 'int32')), outputs), 'must be int32', 0);
  });

  it('takes length and dtype of a broadcast from the output if the root is not a local rank', () => {
    expect(() => check(broadcast, [floats(9)], [floats(4, 'int8')], [0])).not.toThrow();
  });

  it('requires float64 outputs for the mean of int32 inputs', () => {
    const inputs = both.map(() => floats(4, 'int32'));
    const mean: Collective = { kind: 'all-reduce', op: 'mean' };
    expectRefused(
      () =>
        check(
          mean,
          inputs,
          both.map(() => floats(4, 'int32')),
        ),
      'output is int32, must be float64',
      0,
    );
    expect(() =>
      check(
        mean,
        inputs,
        both.map(() => floats(4, 'float64')),
      ),
    ).not.toThrow();
  });

  it('refuses to write the mean of integers over the integers', () => {
    const memory = new ArrayBuffer(32);
    const input: Tensor = { data: new Int32Array(memory, 0, 4), dtype: 'int32', shape: [4], device: '' };
    const output: Tensor = { data: new Float64Array(memory), dtype: 'float64', shape: [4], device: '' };
    const mean: Collective = { kind: 'all-reduce', op: 'mean' };
    expectRefused(() => check(mean, [input], [output], [0]), 'overlaps its own input', 0);
  });

  it('accepts empty buffers, even several at the same place in memory', () => {
    for (const collective of collectives) {
      expect(() => check(collective, [floats(0), floats(0)], [floats(0), floats(0)])).not.toThrow();
    }
    const memory = floats(4);
    const empty = both.map(() => slice(memory, 2, 2));
    expect(() => check(allReduce, empty, empty)).not.toThrow();
  });
});

describe('a shared result', () => {
  const shared = (collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[]) => {
    validateBuffers({ collective, size: 2, localRanks: both, sharedResult: true }, inputs, outputs);
  };
  const inputs = both.map(() => floats(4));

  it.each([allReduce, broadcast, allGather])(
    'of $kind may be written to one output for all ranks, or to one output per rank',
    (collective) => {
      const one = floats(outputLength(collective, 4, 2));
      expect(() => shared(collective, inputs, [one, { ...one, device: 'cpu:1' }])).not.toThrow();
      expect(() => shared(collective, inputs, fitting(collective).outputs)).not.toThrow();
      expectRefused(() => check(collective, inputs, [one, one]), 'one buffer was given twice');
    },
  );

  it.each([allReduce, broadcast, allGather])('of $kind must not overlap an input', (collective) => {
    const memory = floats(8);
    const one = slice(memory, 0, outputLength(collective, 4, 2));
    const over = inputs.with(1, slice(memory, 3, 7));
    expectRefused(() => shared(collective, over, [one, one]), 'overlaps');
    const inPlace = inputs.with(1, slice(memory, 0, 4));
    expectRefused(() => shared(collective, inPlace, [one, one]), 'overlaps');
  });

  it('must not be outputs of two ranks that overlap only in part', () => {
    const memory = floats(6);
    const apart = [slice(memory, 0, 4), slice(memory, 2, 6)];
    expectRefused(() => shared(allReduce, inputs, apart), 'one buffer was given twice');
  });

  it('is refused for collectives with a different result per rank', () => {
    const one = floats(2);
    expectRefused(() => shared(reduceScatter, inputs, [one, one]), 'one buffer was given twice');
    const root = floats(4);
    expect(() => shared(reduce, inputs, [root, root])).not.toThrow();
  });
});

describe('refusedCollective', () => {
  it('accepts every kind of collective with every dtype, except the mean of bool', () => {
    for (const collective of collectives) {
      expect(dtypes.filter((dtype) => refusedCollective(collective, dtype, 2) !== undefined)).toEqual([]);
    }
    const mean: Collective = { kind: 'reduce-scatter', op: 'mean' };
    expect(dtypes.filter((dtype) => refusedCollective(mean, dtype, 2) !== undefined)).toEqual(['bool']);
  });

  it.each([-1, 2, 0.5, Number.NaN, undefined])('refuses %s as the root of a group of two ranks', (root) => {
    const message = `root ${root} is not one of the 2 ranks`;
    expect(refusedCollective({ kind: 'broadcast', root: root as never }, 'int8', 2)).toBe(message);
    expect(refusedCollective({ kind: 'reduce', op: 'sum', root: root as never }, 'int8', 2)).toBe(message);
    expect(refusedCollective({ kind: 'gather', root: root as never }, 'int8', 2)).toBe(message);
    expect(refusedCollective({ kind: 'scatter', root: root as never }, 'int8', 2)).toBe(message);
  });

  it.each(['SUM', 'average'])('refuses the unknown op %s', (op) => {
    for (const kind of ['all-reduce', 'reduce-scatter'] as const) {
      expect(refusedCollective({ kind, op: op as never }, 'int8', 2)).toBe(
        `unknown op "${op}"; it must be one of sum, mean, min, max, product`,
      );
    }
  });

  it.each(['all-reduce', 'reduce', 'reduce-scatter'])('refuses %s without an op', (kind) => {
    expect(refusedCollective({ kind, root: 0 } as never, 'int8', 2)).toBe(
      `${kind} needs an op: sum, mean, min, max, product`,
    );
  });

  it.each(['float', undefined])('refuses %s, which is not a dtype', (dtype) => {
    expect(refusedCollective(allReduce, dtype as never, 2)).toMatch(/^no dtype is called/);
  });

  it.each([undefined, null, 7])('refuses %s as a collective', (collective) => {
    expect(refusedCollective(collective as never, 'int8', 2)).toMatch(/^no collective is called undefined/);
  });

  it('refuses an unknown kind', () => {
    expect(refusedCollective({ kind: 'shuffle' } as never, 'int8', 2)).toBe(
      `no collective is called "shuffle"; there are ${collectiveKinds.join(', ')}`,
    );
  });
});

describe('requireCall', () => {
  it('accepts a collective, a list of inputs and a list of outputs', () => {
    expect(() => requireCall(allReduce, [], [])).not.toThrow();
  });

  it.each([
    ['text as a collective', 'sum', [], []],
    ['null as a collective', null, [], []],
    ['inputs that are not a list', allReduce, floats(1), []],
    ['outputs that are not a list', allReduce, [], undefined],
  ])('refuses %s', (_, collective, inputs, outputs) => {
    expect(thrown(() => requireCall(collective, inputs, outputs))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/^a communicator must be called with a collective/),
    });
  });
});

describe('requireCollective', () => {
  it.each(collectives)('accepts a valid collective of the kind $kind', (collective) => {
    expect(() => requireCollective(collective)).not.toThrow();
  });

  it.each([
    ['a kind that is not text', { kind: 1 }],
    ['no kind', { op: 'sum' }],
    ['an op that is not text', { kind: 'all-reduce', op: 1 }],
    ['a root that is not a number', { kind: 'broadcast', root: '1' }],
  ])('refuses %s', (_, collective) => {
    expect(thrown(() => requireCollective(collective as never))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      message: expect.stringMatching(/^in a collective, kind and op must be strings and root a number, got/),
    });
  });
});

it('requireCounts requires one input and one output per local rank, and names the operation', () => {
  const counts = (inputs: number, outputs: number) =>
    requireCounts({ collective: allReduce, size: 2, localRanks: both }, Array(inputs), Array(outputs));
  expect(() => counts(2, 2)).not.toThrow();
  for (const [inputs, outputs] of [
    [1, 2],
    [2, 1],
    [3, 2],
  ] as const)
    expect(thrown(() => counts(inputs, outputs))).toMatchObject({
      name: 'ValueError',
      code: 'ERR_COLL_VALUE',
      operation: 'all-reduce sum',
      message: expect.stringContaining(`${inputs} inputs and ${outputs} outputs for 2 local ranks`),
    });
});

it('an error about detached memory names the rank and the operation', () => {
  const [one, other] = [floats(4), floats(4)];
  const { buffer } = other.data;
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  const error = thrown(() =>
    validateBuffers({ collective: allReduce, size: 2, localRanks: both }, [one, other], [one, floats(4)]),
  );
  expect(error).toMatchObject({
    code: 'ERR_COLL_BUFFER',
    rank: 1,
    operation: 'all-reduce sum',
    message: expect.stringMatching(/^all-reduce sum: rank 1: the buffer of a tensor was detached/),
  });
});
