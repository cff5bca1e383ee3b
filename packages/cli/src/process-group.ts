import { spawnSync } from 'node:child_process';
import { runningGroups } from './process-stat.js';

// Ends a process together with its descendants, in the way of each operating system.
// process-stat.ts has the parts that need Linux.

const isWindows = process.platform === 'win32';

/**
 * Options of `spawn` that give a process its own group, so that Ctrl-C in the terminal reaches only
 * the launcher, and the process can be ended together with its descendants.
 */
export const ownGroup = isWindows ? ({ windowsHide: true } as const) : ({ detached: true } as const);

/**
 * Sends a signal to a process group. On Windows, which has no signals, both values kill the group
 * at once.
 */
function endGroup(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (isWindows) {
    spawnSync('taskkill', ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true });
    return;
  }
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has no processes.
  }
}

/** Kills this process, which leads a group of its own, with its descendants. */
export function endOwnGroup(): void {
  endGroup(process.pid, 'SIGKILL');
}

/** Whether a process group has any processes; on Windows, whether its first process exists. */
export function isGroupAlive(pid: number): boolean {
  try {
    return process.kill(isWindows ? pid : -pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

const lookEveryMillis = 20;
/**
 * The minimum number of milliseconds between two searches of all processes, which each take
 * milliseconds.
 */
const searchEveryMillis = 200;
const oldMillis = 2000;
/** The number of seconds that the system may take to remove a killed process. */
const clearSeconds = 1;

/**
 * Ends process groups. While several groups are being ended, they share each search of the system's
 * processes.
 */
export class GroupEnder {
  /** The results of the latest two searches: the running groups, or undefined if unknown. */
  #searches: readonly (ReadonlySet<number> | undefined)[] = [];
  #searchedAt = Number.NEGATIVE_INFINITY;

  /**
   * Ends a process group by SIGTERM, then SIGKILL after the grace period or once `atOnce` is
   * aborted.
   */
  async end(pid: number, graceSeconds: number, atOnce?: AbortSignal): Promise<void> {
    endGroup(pid, 'SIGTERM');
    // Groups that are ended together all get the signal before the first search, which may take long.
    await Promise.resolve();
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

  /**
   * Whether a process group has processes other than zombies (processes that have ended but still
   * have an entry). In most containers, zombies stay, because process 1 does not remove orphans.
   * True if it is unknown.
   */
  #isRunning(pid: number): boolean {
    const now = performance.now();
    const age = now - this.#searchedAt;
    if (age >= searchEveryMillis) {
      // Drops an old search, which does not contain groups that started later.
      this.#searches = [...(age < oldMillis ? this.#searches.slice(-1) : []), runningGroups()];
      this.#searchedAt = now;
    }
    // A single search can miss a group if its process starts another one during the search and
    // exits, so the latest two searches count.
    return this.#searches.length < 2 || this.#searches.some((running) => running?.has(pid) ?? true);
  }
}
