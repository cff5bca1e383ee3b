import { hostname } from 'node:os';
import { directAlgorithm } from '@coll/direct';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { jsEngine } from '../js/js-engine.js';
import { setLogOrigin } from '../support/log-origin.js';
import { type LogFields, setLogSink } from '../support/logger.js';
import { joinThreadGroup, openMembers } from './open-members.js';

const lines: (Pick<LogFields, 'rank' | 'host' | 'event' | 'data'> & { level: string; message: string })[] = [];
const algorithm = directAlgorithm();

beforeEach(() => {
  lines.length = 0;
  setLogSink((level, message, fields) => {
    if (fields.event) lines.push({ level, message, ...fields });
  });
});
afterEach(() => {
  setLogSink();
  setLogOrigin({ rank: undefined });
});

it('the members of one thread log one line when they open and one when the last has left', async () => {
  const members = openMembers({ size: 2, algorithm, engine: 'js' });
  await Promise.all(members.map((member) => member.allReduce('sum', Float32Array.of(1, 2))));
  await Promise.all(members.map((member) => member.barrier()));
  expect(lines).toMatchObject([
    {
      level: 'info',
      message: expect.stringMatching(
        /^group opened: 2 members of one thread; memory of the thread; engine js; algorithm direct; [\d.]+ cores? per member(; records in .+)?$/,
      ),
      rank: 0,
      host: hostname(),
      event: 'group opened',
      data: { kind: 'members of one thread', members: 2, engine: 'js', algorithm: 'direct' },
    },
  ]);
  await members[1]?.close();
  expect(lines).toHaveLength(1);
  await members[0]?.close();
  await members[0]?.close();
  expect(lines.slice(1)).toMatchObject([
    {
      level: 'info',
      message: expect.stringMatching(
        /^group closed: 2 members of one thread; open for [\d.]+ m?s; 2 collectives of 10 B per member$/,
      ),
      event: 'group closed',
      data: { members: 2, seconds: expect.any(Number), collectives: 2, bytesPerMember: 10, failure: undefined },
    },
  ]);
});

it('rank 0 of a group of threads logs at level info, the others at level debug', async () => {
  const group = jsEngine.createGroup({ size: 2 });
  const members = [0, 1].map((rank) => joinThreadGroup(group, { rank, algorithm }));
  await Promise.all(members.map((member) => member.allReduce('sum', Float32Array.of(1, 2))));
  for (const member of members) await member.close();
  expect(lines.map(({ level, event, rank }) => [level, event, rank])).toEqual([
    ['info', 'group opened', 0],
    ['debug', 'group opened', 1],
    ['info', 'group closed', 0],
    ['debug', 'group closed', 1],
  ]);
  expect(lines[0]?.data).toMatchObject({ kind: 'threads', members: 2, transport: 'shared memory', engine: 'js' });
  expect(lines[2]?.data).toMatchObject({ collectives: 1, bytesPerMember: 8, failure: undefined });
});

it('the line at the end names the failure of the group', async () => {
  const group = jsEngine.createGroup({ size: 2 });
  const members = [0, 1].map((rank) => joinThreadGroup(group, { rank, algorithm }));
  const waiting = members[0]?.barrier({ timeoutSeconds: 0.01 });
  await expect(waiting).rejects.toMatchObject({ code: 'ERR_COLL_DEADLINE' });
  for (const member of members) await member.close();
  expect(lines.at(-1)).toMatchObject({
    message: expect.stringMatching(/; failed with ERR_COLL_DEADLINE$/),
    data: { failure: 'ERR_COLL_DEADLINE' },
  });
});
