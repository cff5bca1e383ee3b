import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { processStat } from './process-stat.js';

// What differs between operating systems is here, and what Linux alone tells in process-stat.ts: how a process is ended together with its descendants.

const isWindows = process.platform === 'win32';

/**
 * Options of `spawn` for a process with a group of its own: Ctrl-C in the terminal reaches the launcher only, and what the process
 * starts can be ended with it.
 */
export const ownGroup = isWindows ? ({ windowsHide: true } as const) : ({ detached: true } as const);

/** Ends a group: with a chance to clean up, or at once. Windows has no signals, so that both end it at once there. */
export function endGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (isWindows) {
    spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // Nobody is left.
  }
}

/** Whether any process of a group is left. On Windows a group is its first process. */
export function isGroupAlive(pid: number): boolean {
  try {
    return process.kill(isWindows ? pid : -pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether one of them is more than a zombie. Those whose parent has ended stay zombies where process 1 does not ask for them, as a program
 * does not that is process 1 of a container. Only Linux tells; elsewhere all count.
 */
function isAnyRunning(pid: number): boolean {
  try {
    return readdirSync('/proc').some((name) => /^\d+$/.test(name) && runsIn(pid, name));
  } catch {
    return true;
  }
}

function runsIn(group: number, pid: string): boolean {
  const stat = processStat(pid);
  return stat?.group === group && stat.state !== 'Z';
}

const lookEveryMillis = 20;
/** To look through all processes takes milliseconds. */
const looksPerSearch = 10;

/** Whether a group has ended in time, or as soon as waiting is given up. */
export async function groupEnds(pid: number, withinSeconds: number, over?: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + withinSeconds * 1000;
  for (let look = 0; isGroupAlive(pid) && (look % looksPerSearch !== 0 || isAnyRunning(pid)); look++) {
    if (over?.aborted || performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMillis));
  }
  return true;
}
