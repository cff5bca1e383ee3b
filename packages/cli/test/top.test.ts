import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Launcher, Running } from './launcher.js';
import { recordedMemory } from './recorded-memory.js';

const launcher = new Launcher();
beforeAll(() => launcher.build());
afterAll(() => launcher.remove());

/** A folder with the records of two ranks, which this process seems to run. */
function folderOf(name: string): string {
  const folder = path.join(launcher.folder, name);
  mkdirSync(folder, { mode: 0o700 });
  for (const rank of [0, 1]) write(folder, rank, 3);
  return folder;
}

function write(folder: string, rank: number, calls: number): void {
  const thread = { host: hostname(), thread: rank, process: 'process' };
  writeFileSync(path.join(folder, `${rank}.coll`), recordedMemory({ thread, calls, identity: { rank } }));
}

function top(...args: readonly string[]): Running {
  return new Running(launcher.command('top', ...args), {});
}

describe('coll top', () => {
  it('prints a running job once', async () => {
    const { code, stdout, stderr } = await top(folderOf('once'), '--once').outcome;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^job digits: 2 ranks on 1 host, .* of memory\n/);
    expect(stdout).toMatch(/^ +1 +\d+\/1 .* runs$/m);
  });

  it('prints a line of JSON each second until the records have been removed', async () => {
    const folder = folderOf('json');
    const running = top(folder, '--json');
    let output = '';
    running.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.split('\n').length === 2) write(folder, 0, 9);
      if (output.includes('"callsPerSecond":') && /"callsPerSecond":[1-9]/.test(output))
        rmSync(folder, { recursive: true, force: true });
    });
    const { code, stderr } = await running.outcome;
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'coll top: the records of the job have been removed: it has ended well\n',
    });
    const [first] = output.split('\n') as [string];
    expect(JSON.parse(first)).toMatchObject({
      job: 'digits',
      size: 2,
      isRunning: true,
      ranks: [{ rank: 0 }, { rank: 1 }],
    });
  });

  it('ends if its reader ends, and if it is interrupted', async () => {
    const folder = folderOf('pipe');
    const unread = top(folder);
    unread.child.stdout?.destroy();
    const [code] = await once(unread.child, 'exit');
    expect(code).toBe(141);
    const interrupted = top(folder);
    await once(interrupted.child.stdout as NonNullable<typeof interrupted.child.stdout>, 'data');
    interrupted.child.kill('SIGINT');
    const [, signal] = await once(interrupted.child, 'exit');
    expect(signal).toBe('SIGINT');
  });

  it('exits with code 1 without records', async () => {
    const { code, stderr } = await top('/nowhere').outcome;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'coll top: /nowhere: it does not exist\ncoll top: no records in /nowhere\n',
    });
  });
});
