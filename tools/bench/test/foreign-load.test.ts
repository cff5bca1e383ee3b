import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { ticksOfFamily } from '../src/foreign-load.js';

const child = `const { spawn } = require('node:child_process');
spawn(process.execPath, ['-e', process.argv[1]], { stdio: 'inherit' });`;

/** Uses half a second of CPU time, reports it, and runs until its input ends. */
const grandchild = `while (process.cpuUsage().user < 500_000);
console.log('done');
process.stdin.resume();`;

it.runIf(process.platform === 'linux')(
  'the CPU time of running child processes is attributed to their parent',
  async () => {
    const before = ticksOfFamily(process.pid);
    const busy = spawn(process.execPath, ['-e', child, grandchild], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(busy.stdout, 'data');
    expect(ticksOfFamily(process.pid) - before).toBeGreaterThanOrEqual(45);
    busy.stdin.end();
    await once(busy, 'close');
  },
);
