import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Members } from './members.js';

const hasPrlimit = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

/** The system gives out the lowest number that is free, below the limit. */
function limitThatLeaves(free: number, used: ReadonlySet<number>): number {
  let limit = 0;
  for (let left = free; left > 0; limit++) if (!used.has(limit)) left--;
  return limit;
}

describe.skipIf(!hasPrlimit)('a member with too few file descriptors', () => {
  let members: Members;
  beforeEach(async () => {
    members = await Members.start(4);
  });
  afterEach(() => members[Symbol.asyncDispose]());

  it.each([
    [0, 4],
    [3, 4],
  ])('makes opening the group fail on all members for this reason: rank %i with %i descriptors', async (rank, free) => {
    const poor = members.all[rank] as Members['all'][0];
    // It has started when it answers.
    await poor.ask({ do: 'explain' });
    const { pid } = poor.child;
    // Enough for the store and to listen, not for all connections, even if the member still closes
    // files that it has read.
    const most = limitThatLeaves(free, new Set(readdirSync(`/proc/${pid}/fd`).map(Number)));
    expect(spawnSync('prlimit', ['--pid', String(pid), `--nofile=${most}:${most}`]).status).toBe(0);
    const options = { generation: members.nextGeneration(), timeoutSeconds: 600, transport: 'tcp' } as const;
    const failures = await Promise.all(members.all.map((member) => member.failure({ do: 'open', options })));
    for (const failure of failures) {
      expect(failure).toMatchObject({
        name: 'RuntimeError',
        code: 'ERR_COLL_CLUSTER',
        rank,
        message: expect.stringMatching(
          new RegExp(`^rank ${rank} cannot open a group of 4: it has too many open files .EMFILE.; .*ulimit -n`),
        ),
      });
    }
  });

  it.each([0, 3])('makes a call fail on all members for this reason: rank %i', async (rank) => {
    await members.open({ transport: 'tcp' });
    const { pid } = (members.all[rank] as Members['all'][0]).child;
    // Open files stay open.
    expect(spawnSync('prlimit', ['--pid', String(pid), '--nofile=0:0']).status).toBe(0);
    const call = { do: 'run', collective: { kind: 'all-reduce', op: 'sum' }, length: 4 } as const;
    const failures = await Promise.all(members.all.map((member) => member.failure(call)));
    for (const failure of failures) {
      expect(failure).toMatchObject({
        name: 'UnavailableError',
        code: 'ERR_COLL_PEER_FAILED',
        rank,
        message: expect.stringMatching(
          new RegExp(
            `rank ${rank} .*cannot continue: it cannot open a data connection with rank .: it has too many open files; .*ulimit -n`,
          ),
        ),
      });
    }
  });
});
