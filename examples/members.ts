// Four ranks without a strategy: collectives, messages between two of them, and groups of two.
//
//   npx tsx examples/members.ts
import { openMembers } from '@coll/core';
import { ringAlgorithm } from '@coll/ring';

const members = openMembers({ size: 4, algorithm: ringAlgorithm() });

const lines = await Promise.all(
  members.map(async (member) => {
    const mean = await member.allReduce('mean', new Float32Array([member.rank]));

    // Each member sends its rank to the next member.
    const sending = member.send((member.rank + 1) % 4, new Int32Array([member.rank]));
    const previous = await member.receive((member.rank + 3) % 4, new Int32Array(1));
    await sending;

    // Two groups of two, such as the ranks of one host each.
    const half = await member.split(Math.floor(member.rank / 2));
    const neighbours = await half?.allGather(new Int32Array([member.rank]));
    return `rank ${member.rank}: mean ${mean[0]}, previous ${previous[0]}, neighbours ${neighbours?.join(' and ')}`;
  }),
);
console.log(lines.join('\n'));
