import { spawnSync } from 'node:child_process';
import { runningGroups } from './process-stat.js';

// How a process is ended together with its descendants, which differs between operating systems. What only Linux tells is in process-stat.ts.

const isWindows = process.platform === 'win32';

/**
 * Options of `spawn` for a process with a group of its own: Ctrl-C in the terminal reaches the launcher only, and what the process
 * starts can be ended with it.
 */
export const ownGroup = isWindows ? ({ windowsHide: true } as const) : ({ detached: true } as const);

/** Ends a group: with a chance to clean up, or at once. Windows has no signals, so that both end it at once there. */
function endGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
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
/** To look through all processes takes milliseconds. */
const searchEveryMillis = 200;
const oldMillis = 2000;
/** How long the system may take to remove a killed process. */
const clearSeconds = 1;

/** Ends process groups that are there already. What it learns about all processes of the system serves all of them. */
export class GroupEnder {
  /** The latest two. */
  #searches: readonly (ReadonlySet<number> | undefined)[] = [];
  #searchedAt = Number.NEGATIVE_INFINITY;

  /** SIGTERM, then SIGKILL after the grace, or as soon as `atOnce` says so. */
  async end(pid: number, graceSeconds: number, atOnce?: AbortSignal): Promise<void> {
    endGroup(pid, 'SIGTERM');
    if (await this.#isGone(pid, graceSeconds, atOnce)) return;
    endGroup(pid, 'SIGKILL');
    await this.#isGone(pid, clearSeconds);
  }

  async #isGone(pid: number, withinSeconds: number, atOnce?: AbortSignal): Promise<boolean> {
    const deadline = performance.now() + withinSeconds * 1000;
    while (isGroupAlive(pid) && this.#isRunning(pid)) {
      if (atOnce?.aborted || performance.now() > deadline) return false;
      await new Promise((resolve) => setTimeout(resolve, lookEveryMillis));
    }
    return true;
  }

  /** False where only zombies are left: they stay where process 1 does not ask how its orphans have ended, as most do not in containers. */
  #isRunning(pid: number): boolean {
    const now = performance.now();
    const age = now - this.#searchedAt;
    if (age >= searchEveryMillis) {
      // One from an earlier ending knows nothing of the groups of this one.
      this.#searches = [...(age < oldMillis ? this.#searches.slice(-1) : []), runningGroups()];
      this.#searchedAt = now;
    }
    // One search misses a process that starts another one meanwhile, and ends.
    return this.#searches.length < 2 || this.#searches.some((running) => running?.has(pid) ?? true);
  }
}
