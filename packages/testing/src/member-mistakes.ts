import { type Member, tensor } from '@coll/core';
import { outcomeOf } from './call-outcome.js';

/** A call that a member refuses by itself, and the class and code of its error. */
interface Mistake {
  readonly call: (member: Member) => Promise<unknown>;
  readonly error: readonly [name: string, code: string];
}

const value = ['ValueError', 'ERR_COLL_VALUE'] as const;
const buffer = ['ValueError', 'ERR_COLL_BUFFER'] as const;

const overlapping = () => {
  const memory = new Float32Array(6);
  return [memory.subarray(0, 4), memory.subarray(1, 5)] as const;
};

const detached = () => {
  const array = new Float32Array(2);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
};

/** An array whose buffer has become smaller. */
const outside = () => {
  const memory = new ArrayBuffer(16, { maxByteLength: 16 } as never) as ArrayBuffer & { resize(bytes: number): void };
  const array = new Float32Array(memory, 8, 1);
  memory.resize(4);
  return array;
};

/** The mistakes that concern one member alone, by name. */
export const mistakes = {
  'an unknown op': { call: (member) => member.allReduce('median' as 'sum', new Float32Array(1)), error: value },
  'an unknown op of a call that blocks': {
    call: async (member) => member.allReduceSync('median' as 'sum', new Float32Array(1)),
    error: value,
  },
  'a root that is not a rank': { call: (member) => member.broadcast(member.size, new Float32Array(1)), error: value },
  'a value that is not a tensor': { call: (member) => member.allReduce('sum', 'one' as never), error: value },
  'an option that does not exist': {
    call: (member) => member.allReduce('sum', new Float32Array(1), { timeout: 1 } as never),
    error: value,
  },
  'a mean of booleans': {
    call: (member) => member.allReduce('mean', tensor(new Uint8Array(1), { dtype: 'bool' }) as never),
    error: ['ValueError', 'ERR_COLL_REFUSED'],
  },
  'a length that the ranks do not divide': {
    call: (member) => member.reduceScatter('sum', new Float32Array(member.size + 1)),
    error: buffer,
  },
  'memory of another length': {
    call: (member) => member.allReduce('sum', new Float32Array(1), { into: new Float32Array(3) }),
    error: buffer,
  },
  'memory of another dtype': {
    call: (member) => member.allReduce('sum', new Float32Array(1), { into: new Int32Array(1) as never }),
    error: buffer,
  },
  'memory of another shape': {
    call: (member) => {
      const matrix = tensor(new Float32Array(6), { shape: [2, 3] });
      return member.allReduce('sum', matrix, { into: tensor(new Float32Array(6), { shape: [3, 2] }) });
    },
    error: buffer,
  },
  'memory that overlaps the value': {
    call: (member) => {
      const [own, into] = overlapping();
      return member.allReduce('sum', own, { into });
    },
    error: buffer,
  },
  'a list of several dtypes': {
    call: (member) => member.allReduce('sum', [new Float32Array(1), new Int32Array(1)]),
    error: buffer,
  },
  'a list that contains a number': { call: (member) => member.allReduce('sum', [1, 2] as never), error: value },
  'memory that is a number': {
    call: (member) => member.allReduce('sum', new Float64Array(1), { into: 1 as never }),
    error: value,
  },
  'a value that was detached': { call: (member) => member.allReduce('sum', detached()), error: buffer },
  'a value outside of its buffer': { call: (member) => member.allReduce('sum', outside()), error: buffer },
  'a list with a value outside of its buffer': {
    call: (member) => member.broadcast(0, [new Float32Array(1), outside()]),
    error: buffer,
  },
  'memory outside of its buffer': {
    call: (member) => member.allReduce('sum', new Float32Array(0), { into: outside() }),
    error: buffer,
  },
  'a signal that is already aborted': {
    call: (member) => member.allReduce('sum', new Float32Array(1), { signal: AbortSignal.abort() }),
    error: ['AbortedError', 'ERR_COLL_ABORTED'],
  },
} satisfies Record<string, Mistake>;

/**
 * One member after the other makes all mistakes, while the others make no call. Returns the class
 * and code of each error, and the outcome of the call that follows.
 */
export async function mistakesOfEachMember(member: Member): Promise<unknown> {
  const { rank, size } = member;
  const turn = new Uint8Array(1);
  if (rank > 0) await member.receive(rank - 1, turn);
  const errors: Record<string, unknown> = {};
  for (const [name, { call }] of Object.entries(mistakes)) {
    const outcome = await outcomeOf(call(member));
    errors[name] = outcome === 'done' ? outcome : outcome.slice(0, 2);
  }
  if (rank + 1 < size) await member.send(rank + 1, turn);
  return { errors, next: await outcomeOf(member.allReduce('sum', new Float32Array(1))) };
}
