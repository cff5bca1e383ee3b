import { hostname } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Launcher, linesOf } from './launcher.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build([path.join(import.meta.dirname, 'fixtures/logging-rank.ts')]));
afterAll(() => launcher.remove());

// The bundle lies elsewhere than the engine's binary.
const addon = path.join(import.meta.dirname, '../../../native/engine/build/release/coll_native.node');
const program = ['-n', '3', '--command', process.execPath, 'launcher/dist/logging-rank.js'];
const run = (env: Record<string, string>, ...args: string[]) =>
  launcher.start([...program.slice(0, 2), ...args.slice(1), ...program.slice(2), ...args.slice(0, 1)], {
    env: { COLL_NATIVE_PATH: addon, ...env },
  }).outcome;

const place = String.raw`coll info \d\d:\d\d:\d\d\.\d{3}Z \[${hostname()}\]`;
const opened = new RegExp(
  String.raw`^\[0\] ${place} group opened: 3 processes on ${hostname()}; shared memory; engine native with \w+; algorithm direct; [\d.]+ cores? per member; records in .+$`,
);
const closed = new RegExp(
  String.raw`^\[0\] ${place} group closed: 3 processes; open for [\d.]+ m?s; 3 collectives of 24 B per member$`,
);

describe.concurrent('the log of a group of processes', () => {
  it('is empty by default', async () => {
    expect(await run({})).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    ['closed', []],
    ['still open when the process ends', ['open']],
  ])('has one line at the opening and one at the end with COLL_LOG=info, not one per rank: %s', async (_, args) => {
    const { code, stderr } = await run({ COLL_LOG: 'info' }, ...args);
    expect(code).toBe(0);
    const lines = linesOf(stderr).filter((line) => line.includes(' group '));
    expect(lines).toEqual([expect.stringMatching(opened), expect.stringMatching(closed)]);
  });

  it('has JSON objects with the fields of each rank with COLL_LOG_FORMAT=json', async () => {
    const { code, stderr } = await run({ COLL_LOG: 'debug', COLL_LOG_FORMAT: 'json' }, '', '--no-prefix');
    expect(code).toBe(0);
    const lines = linesOf(stderr).map((line) => JSON.parse(line));
    for (const line of lines) expect(line).toMatchObject({ host: hostname(), message: expect.any(String) });
    const of = (event: string) => lines.filter((line) => line.event === event).sort((a, b) => a.rank - b.rank);
    const levels = (event: string) => of(event).map(({ rank, level }) => [rank, level]);
    const byRank = [
      [0, 'info'],
      [1, 'debug'],
      [2, 'debug'],
    ];
    expect(levels('group opened')).toEqual(byRank);
    expect(levels('group closed')).toEqual(byRank);
    expect(of('group opened')[0].data).toMatchObject({
      kind: 'processes',
      members: 3,
      hosts: { [hostname()]: 3 },
      transport: 'shared memory',
      engine: 'native',
      algorithm: 'direct',
    });
    expect(of('group closed')[0].data).toMatchObject({ members: 3, collectives: 3, bytesPerMember: 24 });
    const ports = of('listening').map(({ level, data }) => [level, data.host, data.port > 0, data.dataPort > 0]);
    expect(ports).toEqual(Array(3).fill(['debug', '127.0.0.1', true, true]));
  });

  it('has the measured speed of links, which the explanation of the group has, too', async () => {
    const { code, stdout, stderr } = await run({ COLL_LOG: 'info', COLL_LOG_FORMAT: 'json' }, 'auto', '--no-prefix');
    expect(code).toBe(0);
    const lines = linesOf(stderr).map((line) => JSON.parse(line));
    const measured = lines.filter(({ event }) => event === 'links measured');
    expect(measured).toMatchObject([
      { rank: 0, data: { across: { latencySeconds: expect.any(Number), bytesPerSecond: expect.any(Number) } } },
    ]);
    expect(measured[0].message).toMatch(/^links measured: [\d.]+ [µm]?s and [\d.]+ .?B\/s per link; all-reduce by \w/);
    expect(JSON.parse(stdout)).toEqual({ across: measured[0].data.across });
    expect(lines.find(({ event }) => event === 'group opened').data).toMatchObject({
      transport: 'tcp',
      algorithm: 'auto',
    });
    const { data } = lines.find(({ event }) => event === 'group closed');
    expect(data.shareInCollectives).toBeGreaterThan(0);
    expect(data.shareInCollectives).toBeLessThanOrEqual(1);
  });
});
