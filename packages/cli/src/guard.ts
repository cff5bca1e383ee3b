import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownGroup } from './process-group.js';

/**
 * Starts a watchdog process, which ends the ranks if the launcher itself is killed before it can
 * end them.
 */
export class Guard implements Disposable {
  readonly #watchdog: ChildProcess;

  /**
   * @param folder a temporary folder, which the watchdog removes once the launcher has exited
   * @param onLost called if the watchdog is killed or cannot be started
   */
  constructor(graceSeconds: number, folder: string, onLost: () => void) {
    const isSource = import.meta.url.endsWith('.ts');
    const file = fileURLToPath(new URL(`./watchdog${isSource ? '.ts' : '.js'}`, import.meta.url));
    this.#watchdog = spawn(
      process.execPath,
      [...(isSource ? process.execArgv : []), file, String(graceSeconds), folder],
      {
        ...ownGroup,
        stdio: ['pipe', 'ignore', 'ignore'],
        // The user's NODE_OPTIONS are meant for the ranks, not for the watchdog.
        env: { ...process.env, NODE_OPTIONS: '' },
      },
    );
    this.#watchdog.unref();
    this.#watchdog.on('error', onLost).on('exit', onLost);
    // The loss of the watchdog has already been reported.
    this.#watchdog.stdin?.on('error', () => {});
  }

  watch(group: number): void {
    this.#watchdog.stdin?.write(`+${group}\n`);
  }

  /**
   * Records that the launcher has begun to end the process group with this id. If the launcher is
   * killed meanwhile, the watchdog ends the group without a second grace period.
   */
  watchEnding(group: number): void {
    this.#watchdog.stdin?.write(`!${group}\n`);
  }

  forget(group: number): void {
    this.#watchdog.stdin?.write(`-${group}\n`);
  }

  [Symbol.dispose](): void {
    this.#watchdog.removeAllListeners('exit');
    this.#watchdog.stdin?.end();
  }
}
