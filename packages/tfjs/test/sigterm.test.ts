import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { linesOf, Running } from '../../cli/test/launcher.ts';

const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/sigterm.ts', import.meta.url));
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-sigterm-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const start = (...args: readonly string[]) =>
  new Running([process.execPath, launcher, 'run', '-n', '2', '--grace', '100', program, ...args], {
    env: { COLL_THRESHOLDS: 'default', COLL_RECORD_DIR: folder },
  });

const trains = /^\[0\.0\] trains$/m;

describe('replicas in threads of two processes', () => {
  it('end a training after the same step on SIGTERM, and go on', async () => {
    const running = start();
    await running.prints(trains);
    running.child.kill('SIGTERM');
    const { stdout, stderr } = await running.outcome;
    const lines = linesOf(stdout).map((line) => line.replace(/^\[.*?\] /, ''));
    const saved = lines.filter((line) => line.startsWith('saves '));
    expect(saved[0], stderr).toMatch(/^saves [\d.,-]+ after \d+ steps$/);
    expect(saved, stderr).toEqual(Array(2).fill(saved[0]));
    expect(lines.filter((line) => line === 'ended').length, stderr).toBe(2);
  });

  it('go on even if one process gets SIGTERM only when the training has ended because of the other', async () => {
    const goOn = path.join(folder, 'go on');
    const running = start(goOn);
    await running.prints(trains);
    const pidOf = (rank: number) => Number(new RegExp(`^\\[${rank}\\] pid (\\d+)$`, 'm').exec(running.stdout)?.[1]);
    process.kill(pidOf(0), 'SIGTERM');
    await running.prints(/ended$[\s\S]*ended$/m);
    process.kill(pidOf(1), 'SIGTERM');
    await running.prints(/^\[1\] .*SIGTERM: the training has already ended/m);
    writeFileSync(goOn, '');
    const { code, stdout, stderr } = await running.outcome;
    expect(code, stderr).toBe(0);
    expect(stdout.match(/went on$/gm), stderr).toHaveLength(2);
  });
});
