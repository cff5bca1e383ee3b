import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ownGroup } from './process-group.js';

/** Makes sure that ranks do not outlive the launcher, even if it is killed without a chance to end them. */
export class Guard implements Disposable {
  readonly #watchdog: ChildProcess;

  /**
   * @param folder removed once the launcher has ended
   * @param onLost the guard itself was killed, or could not be started
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
        // Options that the user gives Node are meant for the ranks.
        env: { ...process.env, NODE_OPTIONS: '' },
      },
    );
    this.#watchdog.unref();
    this.#watchdog.on('error', onLost).on('exit', onLost);
    // A watchdog that is gone has been reported already.
    this.#watchdog.stdin?.on('error', () => {});
  }

  watch(group: number): void {
    this.#watchdog.stdin?.write(`+${group}\n`);
  }

  /** The launcher ends this group now: if it is killed meanwhile, by another launcher whose grace is over, there is no second grace. */
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
