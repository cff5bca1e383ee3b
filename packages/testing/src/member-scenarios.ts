import { CollError, type Member, tensor } from '@coll/core';
import { outcomeOf } from './call-outcome.js';
import { disagreementScenarios } from './member-disagreements.js';
import { mistakesOfEachMember } from './member-mistakes.js';

/**
 * Makes the calls of one member of a group. Returns their results as plain values, which can be
 * posted to another thread or process.
 */
export type MemberScenario = (member: Member) => Promise<unknown>;

const codeOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof CollError ? error.code : String(error)),
  );

/** An array with two elements per member, different on each member. */
const valuesOf = ({ rank, size }: Member) => Int32Array.from({ length: 2 * size }, (_, index) => 100 * rank + index);

/** The ranks of all other members. */
const othersOf = ({ rank, size }: Member) =>
  Array.from({ length: size }, (_, other) => other).filter((other) => other !== rank);

/** One blocking call of each collective with a result. */
function blockingCalls(member: Member): Readonly<Record<string, () => unknown>> {
  const values = valuesOf(member);
  const root = member.size - 1;
  return {
    allReduce: () => member.allReduceSync('sum', values),
    mean: () => member.allReduceSync('mean', values),
    list: () => member.allReduceSync('max', [values, values.slice(1)]),
    reduce: () => member.reduceSync('sum', root, values),
    broadcast: () => member.broadcastSync(root, values),
    allGather: () => member.allGatherSync(values),
    gather: () => member.gatherSync(root, values),
    scatter: () => member.scatterSync(root, new Int32Array(2), member.rank === root ? values : undefined),
    reduceScatter: () => member.reduceScatterSync('sum', values),
    allToAll: () => member.allToAllSync(values),
  };
}

/**
 * The calls of each member of a group, by scenario; `memberSuite` checks their results.
 *
 * @example
 * ```ts
 * import { openMembers } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { memberScenarios } from '@coll/testing';
 *
 * const members = openMembers({ size: 2, algorithm: directAlgorithm() });
 * const received = await Promise.all(members.map(memberScenarios.messages));
 * console.log(received.flat().every(Boolean)); // true
 * ```
 */
export const memberScenarios = {
  ...disagreementScenarios,

  'mistakes of one member': mistakesOfEachMember,

  'lists of different lengths': async (member) => {
    const length = member.rank === member.size - 1 ? 3 : 2;
    const list = Array.from({ length }, () => new Float32Array(6 / length));
    return member.allReduce('sum', list).then(() => 'done', String);
  },

  async collectives(member) {
    const values = valuesOf(member);
    const root = member.size - 1;
    await member.barrier();
    const scattered = new Int32Array(2);
    return {
      allReduce: await member.allReduce('sum', values),
      mean: await member.allReduce('mean', values),
      list: await member.allReduce('max', [values, values.slice(1)]),
      reduce: await member.reduce('sum', root, values),
      broadcast: await member.broadcast(root, values),
      allGather: await member.allGather(values),
      gather: await member.gather(root, values),
      scatter: await member.scatter(root, scattered, member.rank === root ? values : undefined),
      reduceScatter: await member.reduceScatter('sum', values),
      allToAll: await member.allToAll(values),
    };
  },

  async 'blocking collectives'(member) {
    member.barrierSync();
    return Object.fromEntries(Object.entries(blockingCalls(member)).map(([name, call]) => [name, call()]));
  },

  async 'blocking a shared thread'(member) {
    const calls = Object.values(blockingCalls(member)).map((call) => codeOf(Promise.resolve().then(call)));
    return [...(await Promise.all(calls)), await codeOf(member.barrier())];
  },

  async messages(member) {
    const lengths = [0, 1, 5, 300_000];
    const others = othersOf(member);
    const sends = others.flatMap((to) =>
      lengths.map((length) => member.send(to, new Float32Array(length).fill(member.rank + 1))),
    );
    const received = await Promise.all(
      others.map((from) => Promise.all(lengths.map((length) => member.receive(from, new Float32Array(length))))),
    );
    await Promise.all(sends);
    return received.map((parts, index) => {
      const from = others[index] as number;
      return parts.every(
        (part, number) => part.length === lengths[number] && part.every((value) => value === from + 1),
      );
    });
  },

  async split(member) {
    const part = await member.split(member.rank % 2, -member.rank);
    const none = await member.split(-1);
    if (!part) return undefined;
    const again = await part.split(0);
    const sum = await part.allReduce('sum', Int32Array.of(member.rank));
    const order = await again?.allGather(Int32Array.of(member.rank));
    const next = (part.rank + 1) % part.size;
    const previous = (part.rank + part.size - 1) % part.size;
    const sending = part.size === 1 ? undefined : part.send(next, Int32Array.of(member.rank));
    const from = sending ? await part.receive(previous, new Int32Array(1)) : Int32Array.of(member.rank);
    await sending;
    await member.barrier();
    const result = { rank: part.rank, size: part.size, sum, order, from, none };
    await again?.close();
    await part.close();
    return result;
  },

  async 'a message of another length'(member) {
    if (member.rank > 1) return codeOf(member.barrier());
    const first =
      member.rank === 0 ? codeOf(member.send(1, new Float32Array(3))) : codeOf(member.receive(0, new Float32Array(4)));
    // The sender may succeed before the receiver detects the mismatch.
    return [member.rank === 0 ? 'sent' : await first, await codeOf(first.then(() => member.barrier()))];
  },

  async 'a message of another shape'(member) {
    const matrix = (...shape: number[]) => tensor(new Float32Array(6), { shape });
    if (member.rank > 1) return codeOf(member.barrier());
    const first = member.rank === 0 ? member.send(1, matrix(2, 3)) : member.receive(0, matrix(3, 2));
    const outcome = await outcomeOf(first);
    return [member.rank === 0 ? 'sent' : outcome, await codeOf(member.barrier())];
  },

  async 'messages that are refused'(member) {
    if (member.rank > 1) return codeOf(member.barrier());
    const isSender = member.rank === 0;
    const values = Float32Array.of(isSender ? 7 : 0);
    const message = (options = {}) =>
      isSender ? member.send(1, values, options) : member.receive(0, values, options).then(() => {});
    const unknown = { timeout: 1 };
    const refusedByBoth = await codeOf(message(unknown));
    await message();
    if (isSender) await codeOf(message(unknown));
    return [refusedByBoth, values[0], await codeOf(message())];
  },

  async 'a message that never arrives'(member) {
    if (member.rank > 0) return codeOf(member.barrier());
    return codeOf(member.receive(1, new Float32Array(1), { timeoutSeconds: 0.3 }));
  },

  async 'a third member that leaves'(member) {
    // A group of the same members, to know when the last one has left the other group.
    const all = (await member.split(0)) as Member;
    const third = member.size - 1;
    const message = new Float32Array(1);
    if (member.rank === third) await member.close();
    await all.barrier();
    const messages = [];
    if (member.rank === 0) messages.push(await outcomeOf(member.send(1, message)));
    if (member.rank === 1) messages.push(await outcomeOf(member.receive(0, message)));
    await all.barrier();
    await all.close();
    if (member.rank === third) return undefined;
    return [...messages, await outcomeOf(member.barrier()), await outcomeOf(member.send(third, message))];
  },

  async 'a member that leaves'(member) {
    if (member.rank === 1) return member.close();
    return member.rank === 0 ? codeOf(member.receive(1, new Float32Array(1))) : undefined;
  },
} satisfies Record<string, MemberScenario>;

/** The name of a scenario. */
export type MemberScenarioName = keyof typeof memberScenarios;
