import { type Member, type MemberData, tensor } from '@coll/core';
import { outcomeOf } from './call-outcome.js';

type MemberCall = (member: Member) => Promise<unknown>;

/** Calls of members that differ, and the error of all members. */
interface Disagreement {
  /** The call of all members but the last. */
  readonly call: MemberCall;
  /** The call of the last member. */
  readonly odd: MemberCall;
  readonly error: readonly [name: string, code: string];
}

const mismatch = ['InternalError', 'ERR_COLL_MISMATCH'] as const;
const dtypes = ['InternalError', 'ERR_COLL_DTYPE_MISMATCH'] as const;
const shapes = ['InvalidArgumentError', 'ERR_COLL_SHAPE_MISMATCH'] as const;

const wide = () => tensor(new Float32Array(12), { shape: [2, 6] });
const high = () => tensor(new Float32Array(12), { shape: [6, 2] });
const many = ({ size }: Member, perMember = 1) => new Float32Array(size * perMember);

/** The root has the value to scatter; the others have none. */
const scattering = (member: Member, into: MemberData, value: MemberData) =>
  member.scatter(0, into, member.rank === 0 ? value : undefined);

/** The mistakes that members notice when they compare their calls, by name. */
export const disagreements = {
  'another collective': {
    call: (member) => member.allReduce('sum', many(member)),
    odd: (member) => member.broadcast(0, many(member)),
    error: mismatch,
  },
  'another op': {
    call: (member) => member.allReduce('sum', many(member)),
    odd: (member) => member.allReduce('max', many(member)),
    error: mismatch,
  },
  'another root': {
    call: (member) => member.broadcast(0, many(member)),
    odd: (member) => member.broadcast(1, many(member)),
    error: mismatch,
  },
  'another purpose': {
    call: (member) => member.allGather(new Uint8Array(1)),
    odd: (member) => member.barrier(),
    error: mismatch,
  },
  'a split': {
    call: (member) => member.allGather(new Int32Array(2)),
    odd: (member) => member.split(0),
    error: mismatch,
  },
  'another dtype': {
    call: (member) => member.allReduce('sum', new Float32Array(2)),
    odd: (member) => member.allReduce('sum', new Int32Array(2)),
    error: dtypes,
  },
  'another length': {
    call: (member) => member.allReduce('sum', new Float32Array(1)),
    odd: (member) => member.allReduce('sum', new Float32Array(2)),
    error: shapes,
  },
  'another length at the root': {
    call: (member) => member.gather(member.size - 1, new Float32Array(3)),
    odd: (member) => member.gather(member.size - 1, new Float32Array(2)),
    error: shapes,
  },
  'another length of blocks': {
    call: (member) => member.reduceScatter('sum', many(member, 2)),
    odd: (member) => member.reduceScatter('sum', many(member, 3)),
    error: shapes,
  },
  'another number of values': {
    call: (member) => member.allReduce('sum', [new Float32Array(1), new Float32Array(2)]),
    odd: (member) => member.allReduce('sum', new Float32Array(3)),
    error: shapes,
  },
  'other lengths of values': {
    call: (member) => member.allReduce('sum', [new Float32Array(1), new Float32Array(2)]),
    odd: (member) => member.allReduce('sum', [new Float32Array(2), new Float32Array(1)]),
    error: shapes,
  },
  'another shape in allReduce': {
    call: (member) => member.allReduce('sum', wide()),
    odd: (member) => member.allReduce('sum', high()),
    error: shapes,
  },
  'another shape in a list': {
    call: (member) => member.allReduce('sum', [new Float32Array(1), wide()]),
    odd: (member) => member.allReduce('sum', [new Float32Array(1), high()]),
    error: shapes,
  },
  'another shape in reduce': {
    call: (member) => member.reduce('sum', 0, wide()),
    odd: (member) => member.reduce('sum', 0, high()),
    error: shapes,
  },
  'another shape in broadcast': {
    call: (member) => member.broadcast(0, wide()),
    odd: (member) => member.broadcast(0, high()),
    error: shapes,
  },
  'another shape in allGather': {
    call: (member) => member.allGather(wide()),
    odd: (member) => member.allGather(high()),
    error: shapes,
  },
  'another shape in gather': {
    call: (member) => member.gather(0, wide()),
    odd: (member) => member.gather(0, high()),
    error: shapes,
  },
  'another shape in scatter': {
    call: (member) => scattering(member, wide(), tensor(many(member, 12), { shape: [2 * member.size, 6] })),
    odd: (member) => scattering(member, high(), tensor(many(member, 12), { shape: [2 * member.size, 6] })),
    error: shapes,
  },
  'another shape in reduceScatter': {
    call: (member) => member.reduceScatter('sum', tensor(many(member, 12), { shape: [2 * member.size, 6] })),
    odd: (member) => member.reduceScatter('sum', tensor(many(member, 12), { shape: [6 * member.size, 2] })),
    error: shapes,
  },
  'another shape in allToAll': {
    call: (member) => member.allToAll(tensor(many(member, 12), { shape: [2 * member.size, 6] })),
    odd: (member) => member.allToAll(tensor(many(member, 12), { shape: [6 * member.size, 2] })),
    error: shapes,
  },
  'an array instead of a matrix': {
    call: (member) => member.allReduce('sum', wide()),
    odd: (member) => member.allReduce('sum', new Float32Array(12)),
    error: shapes,
  },
} satisfies Record<string, Disagreement>;

/** The name of a difference between the calls of members. */
export type DisagreementName = keyof typeof disagreements;

/**
 * The calls of each member of a group in which the last member makes another call than the others,
 * by the difference. Returns the outcomes of the call and of the next one.
 */
export const disagreementScenarios = Object.fromEntries(
  Object.entries(disagreements).map(([name, { call, odd }]) => {
    const scenario = async (member: Member) => [
      await outcomeOf(member.rank === member.size - 1 ? odd(member) : call(member)),
      await outcomeOf(member.allReduce('sum', new Float32Array(1))),
    ];
    return [name, scenario];
  }),
) as Record<DisagreementName, MemberCall>;
