import { spawnSync } from 'node:child_process';

// Everything that differs between operating systems is here: how a process is ended together with its descendants.

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

const lookEveryMillis = 20;

/** Whether a group has ended in time, or as soon as waiting is given up. */
export async function groupEnds(pid: number, withinSeconds: number, over?: AbortSignal): Promise<boolean> {
  const deadline = performance.now() + withinSeconds * 1000;
  while (isGroupAlive(pid)) {
    if (over?.aborted || performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, lookEveryMillis));
  }
  return true;
}
