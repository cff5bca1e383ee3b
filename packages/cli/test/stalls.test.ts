import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Launcher, linesOf } from './launcher.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build([path.join(import.meta.dirname, 'fixtures/waiting-rank.ts')]));
afterAll(() => launcher.remove());

const program = ['--command', process.execPath, 'launcher/dist/waiting-rank.js'];

describe.concurrent('a stall of ranks', () => {
  it('is reported once, with the waiting ranks and the rank that has exited; its end is also reported', async () => {
    const running = launcher.start(['-n', '3', '--stall-seconds', '7', ...program], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    await running.prints(/stalled: ranks 0, 1 /);
    running.child.stdin?.write('\n');
    await running.prints(/no longer stalled/);
    running.child.stdin?.end();
    const { code, stderr } = await running.outcome;
    expect(code).toBe(0);
    const lines = linesOf(stderr);
    const stall = (ranks: string) =>
      `coll run: stalled: ${ranks} in all-reduce sum (collective 17) for 7 seconds, rank 2 has ended with exit code 0`;
    // On a busy machine one may report, or go on, long before the other.
    const alone = [stall('rank 0'), stall('rank 1')];
    const messages = lines.filter((line) => !alone.includes(line));
    expect(messages).toEqual([stall('ranks 0, 1'), 'coll run: no longer stalled: all ranks have resumed']);
    expect(lines.at(-1)).toBe(messages[1]);
    expect(lines.length - messages.length).toBeLessThanOrEqual(2);
  });

  it('is not reported with --stall-seconds 0', async () => {
    const args = ['-n', '2', '--stall-seconds', '0', ...program];
    const running = launcher.start(args, { stdio: ['pipe', 'pipe', 'pipe'], env: { COLL_STALL_SECONDS: '1' } });
    running.child.stdin?.end('\n');
    expect(await running.outcome).toEqual({ code: 0, stdout: '', stderr: '' });
  });
});
