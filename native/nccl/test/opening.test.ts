import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { joinGroup, subStore, TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import './doubles.ts';

const program = fileURLToPath(new URL('./members/lone-member.ts', import.meta.url));
const folder = mkdtempSync(path.join(tmpdir(), 'coll-nccl-opening-'));
const control = path.join(folder, 'control');
const size = 3;
const job = { job: 'nccl', jobKey: 'tests-only-4kQz9XvB7mLwR2' };

/** The last report of a process, and its time. */
interface Report {
  readonly stage: string;
  readonly code?: string;
  readonly rank?: number;
  readonly message?: string;
  readonly at: number;
}

class MemberProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<number>;
  report: Report | undefined;

  constructor(rank: number, store: string) {
    this.child = fork(program, [String(rank), String(size)], {
      execArgv: [],
      env: { ...process.env, COLL_TEST_STORE: store, COLL_DOUBLE_CONTROL: control },
    });
    this.child.on('message', (report: Omit<Report, 'at'>) => {
      this.report = { ...report, at: performance.now() };
    });
    this.ended = new Promise((resolve) => this.child.once('exit', () => resolve(performance.now())));
  }
}

let server: TcpStoreServer;
let members: readonly MemberProcess[] = [];
beforeEach(async () => {
  server = await TcpStoreServer.listen(job);
});
afterEach(async () => {
  for (const { child } of members) child.kill('SIGKILL');
  await server.close();
});
beforeAll(() => writeFileSync(control, ''));
afterAll(() => rmSync(folder, { recursive: true }));

function startWith(...wishes: readonly string[]): readonly MemberProcess[] {
  writeFileSync(control, `${wishes.join('\n')}\n`);
  members = Array.from({ length: size }, (_, rank) => new MemberProcess(rank, server.address));
  return members;
}

/** Those that live know soon, by its rank, who has died. */
async function expectNamed(lost: number): Promise<void> {
  const died = await (members[lost] as MemberProcess).ended;
  const survivors = members.filter((_, rank) => rank !== lost);
  await Promise.all(survivors.map(({ ended }) => ended));
  for (const { report } of survivors) {
    expect(report, JSON.stringify(members.map((each) => each.report))).toMatchObject({
      stage: 'failed',
      name: 'UnavailableError',
      code: 'ERR_COLL_PEER_FAILED',
      rank: lost,
    });
    // A second between two looks, and time for a busy machine; without looking it would be four minutes.
    expect((report as Report).at - died).toBeLessThan(60_000);
  }
}

describe('several processes that use NCCL', () => {
  it.each([0, 2])('report rank %i as lost if its process dies when it starts to open the group', async (rank) => {
    startWith(`die init rank=${rank}`);
    await expectNamed(rank);
  });

  it('report a process that dies while the group is opened', async () => {
    const [, second] = startWith('stuck init rank=1') as [MemberProcess, MemberProcess];
    {
      await using store = await TcpStore.connect({ address: server.address, ...job });
      // They watch over each other once they have met.
      await Promise.all(members.map((_, rank) => store.get(`nccl/world/0/of/${size}/beat/${rank}`)));
    }
    second.child.kill('SIGKILL');
    await expectNamed(1);
  });

  it.each(['connect', 'collective'])('report a process that dies in its first collective: %s', async (stage) => {
    startWith(`die ${stage} rank=2`, 'slow collective 300 rank=0');
    await expectNamed(2);
  });

  it('report different releases of this package', async () => {
    await using store = await TcpStore.connect({ address: server.address, ...job });
    const part = subStore(store, 'nccl/world');
    const older = { rank: 2, size, settings: { release: '0.0.9' }, card: new Uint8Array() };
    const refused = joinGroup(part, older).catch((error) => error);
    await store.get('nccl/world/newest');
    members = [0, 1].map((rank) => new MemberProcess(rank, server.address));
    await Promise.all(members.map(({ ended }) => ended));
    const message = expect.stringMatching(/members of generation 0 disagree: .*release.*0\.0\.9/);
    for (const { report } of members)
      expect(report).toMatchObject({ stage: 'failed', code: 'ERR_COLL_STORE', message });
    expect(await refused).toMatchObject({ code: 'ERR_COLL_STORE', message });
  });

  it('report no lost process if none dies', async () => {
    await Promise.all(startWith().map(({ ended }) => ended));
    expect(
      members.map(({ report }) => report?.stage),
      JSON.stringify(members.map((each) => each.report)),
    ).toEqual(['done', 'done', 'done']);
  });
});
