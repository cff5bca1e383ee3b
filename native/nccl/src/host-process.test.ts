import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type HostProcess, hasEnded, thisProcess } from './host-process.js';

describe.runIf(process.platform === 'linux')('hasEnded', () => {
  const own = () => thisProcess() as HostProcess;

  it('is false for a running process and true once it has exited', async () => {
    const child = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
    await once(child, 'spawn');
    const pid = child.pid as number;
    const began = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19] as string;
    const found = { ...own(), pid, began };
    expect(hasEnded(found)).toBe(false);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(hasEnded(found)).toBe(true);
  });

  it('is true if another process has reused the process id', () => {
    expect(hasEnded(own())).toBe(false);
    expect(hasEnded({ ...own(), began: '1' })).toBe(true);
  });

  it('is false for processes of other hosts', () => {
    expect(hasEnded({ ...own(), host: 'another', began: '1' })).toBe(false);
  });
});
