import type { Collective, DType, Tensor } from '@coll/core';
import { bufferLengths, inputBlocks } from '@coll/core/internal';
import { viewOf } from '@coll/core/plugin';
import { Random } from './random.ts';
import { disagreements, type Scenario } from './scenario.ts';

/** A call that all members make, each on its own memory. */
export interface Call {
  readonly index: number;
  readonly collective: Collective;
  readonly dtype: DType;
  /** Elements of an input. */
  readonly length: number;
  /** Which of the group's communicators it is made on. */
  readonly algorithm: 'direct' | 'ring';
  readonly isAllocated: boolean;
  /** Whether each rank instead sends its input to the next one, as a message. */
  readonly isExchange: boolean;
  /** Whether the members instead split the group, and all members of a half make a call there. */
  readonly isSplit: boolean;
  /** Whether all members first make a call that is refused on each of them, and catch the error. */
  readonly isRefusedFirst: boolean;
}

/** How many calls members make after the one at which the fault happens. */
export const lastCall = 7;

const dtypes = ['float32', 'float64', 'int32', 'float16'] as const satisfies readonly DType[];

/** Collectives that two levels have. */
const inTwoLevels: readonly Collective['kind'][] = ['all-reduce', 'broadcast', 'all-gather'];

/** The call that comes at this place in a scenario. */
export function callAt({ seed, size: members, replicas, fault, at }: Scenario, index: number): Call {
  const random = new Random(seed * 100_003 + index);
  const size = members * replicas;
  const root = random.below(size);
  const op = random.pick(['sum', 'max'] as const);
  const picked = random.pick<Collective>([
    { kind: 'all-reduce', op },
    { kind: 'all-reduce', op },
    { kind: 'reduce', op, root },
    { kind: 'broadcast', root },
    { kind: 'all-gather' },
    { kind: 'reduce-scatter', op },
    { kind: 'gather', root },
    { kind: 'scatter', root },
    { kind: 'all-to-all' },
  ]);
  // Who only sends need not wait for anybody.
  const isAwaited = index === at && ['late', 'abort', 'leave', 'last'].includes(fault);
  // Messages are of pairs: a member that makes another call instead lets the others wait.
  const isCompared = disagreements.includes(fault) && (index === at || index === at + 1);
  const isPlain = isAwaited || (replicas > 1 && !inTwoLevels.includes(picked.kind));
  const collective: Collective = isPlain ? { kind: 'all-reduce', op } : picked;
  const isFree = replicas === 1 && !isAwaited && !isCompared;
  // Without a fault, all members leave right after their last messages.
  const isLast = fault === 'none' && index === at + lastCall;
  const length = Math.floor(2 ** (random.next() * (random.below(6) === 0 ? 20 : 13)));
  return {
    index,
    collective,
    dtype: random.pick(dtypes),
    length: inputBlocks(collective, size) === 1 ? length : Math.ceil(length / size) * size,
    algorithm: random.pick(['direct', 'ring'] as const),
    isAllocated: random.below(2) === 0,
    isExchange: isFree && (random.below(6) === 0 || isLast),
    isSplit: isFree && !isLast && random.below(12) === 0,
    isRefusedFirst: isFree && random.below(6) === 0,
  };
}

/** The call that an odd member makes in the place of another. */
export function oddCall(scenario: Scenario, call: Call): Call {
  const { collective, dtype, length } = call;
  switch (scenario.fault) {
    case 'kind':
      return {
        ...call,
        collective: collective.kind === 'all-gather' ? { kind: 'broadcast', root: 0 } : { kind: 'all-gather' },
      };
    case 'op':
      return { ...call, collective: otherOp(collective) };
    case 'dtype':
      return { ...call, dtype: dtype === 'int32' ? 'float32' : 'int32' };
    case 'length':
      return { ...call, length: length + scenario.size };
    default:
      return callAt(scenario, call.index + 1);
  }
}

function otherOp(collective: Collective): Collective {
  // Of those that combine nothing another kind is as near as it gets.
  if (!('op' in collective)) return { kind: 'all-reduce', op: 'sum' };
  return { ...collective, op: collective.op === 'max' ? 'min' : 'max' };
}

/** Small whole numbers: their sums over all ranks are exact in every dtype here. */
const contribution = (rank: number, index: number) => ((index * 7 + rank * 3) % 11) + rank;

const halves = Uint16Array.from({ length: 256 }, (_, value) => halfOf(value));

function halfOf(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(value));
  return ((exponent + 15) << 10) | Math.round((value / 2 ** exponent - 1) * 1024);
}

const stored = (dtype: DType, value: number) => (dtype === 'float16' ? (halves[value] as number) : value);

/** Memory for a call, from `allocate` or its own. */
export type Allocate = (dtype: DType, length: number) => Tensor;

export function ownMemory(dtype: DType, length: number): Tensor {
  const bytes = { float32: 4, float64: 8, int32: 4, float16: 2 }[dtype as (typeof dtypes)[number]];
  return { data: viewOf(dtype, new ArrayBuffer(length * bytes), 0, length), dtype, shape: [length], device: '' };
}

/** A rank's input and output, filled and empty. */
export function buffersOf({ collective, dtype, length }: Call, rank: number, size: number, allocate: Allocate) {
  const lengths = bufferLengths(collective, length / inputBlocks(collective, size), size, rank);
  const input = allocate(dtype, lengths.input);
  const output = allocate(dtype, lengths.output);
  for (let index = 0; index < lengths.input; index++) input.data[index] = stored(dtype, contribution(rank, index));
  return { input, output };
}

/** What is wrong with a rank's output; undefined where it is right. */
export function problemOf(call: Call, rank: number, size: number, { data }: Tensor): string | undefined {
  const { collective } = call;
  if (collective.kind === 'reduce' && collective.root !== rank) return undefined;
  return differenceOf(call, data, expectationOf(call, rank, size));
}

/** What a rank sends to the next one, and memory for what it receives. */
export function messagesOf({ dtype, length }: Call, rank: number) {
  const [sent, received] = [ownMemory(dtype, length), ownMemory(dtype, length)];
  for (let index = 0; index < length; index++) sent.data[index] = stored(dtype, contribution(rank, index));
  return { sent, received };
}

/** What is wrong with the message that a rank has from another; undefined where it is right. */
export function messageProblemOf(call: Call, from: number, { data }: Tensor): string | undefined {
  return differenceOf(call, data, (index) => contribution(from, index));
}

function differenceOf({ dtype }: Call, data: Tensor['data'], expectedAt: (index: number) => number) {
  for (let index = 0; index < data.length; index++) {
    const expected = stored(dtype, expectedAt(index));
    if (data[index] !== expected) return `element ${index} of ${data.length} is ${data[index]}, not ${expected}`;
  }
  return undefined;
}

function expectationOf({ collective, length }: Call, rank: number, size: number): (index: number) => number {
  const ranks = Array.from({ length: size }, (_, member) => member);
  const combine = (index: number) => {
    const parts = ranks.map((member) => contribution(member, index));
    return 'op' in collective && collective.op === 'max'
      ? Math.max(...parts)
      : parts.reduce((sum, part) => sum + part, 0);
  };
  const block = length / size;
  switch (collective.kind) {
    case 'broadcast':
      return (index) => contribution(collective.root, index);
    case 'all-gather':
    case 'gather':
      return (index) => contribution(Math.floor(index / length), index % length);
    case 'scatter':
      return (index) => contribution(collective.root, rank * block + index);
    case 'all-to-all':
      return (index) => contribution(Math.floor(index / block), rank * block + (index % block));
    case 'reduce-scatter':
      return (index) => combine(rank * block + index);
    default:
      return combine;
  }
}
