import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const entry = fileURLToPath(new URL('./rank.ts', import.meta.url));

/** Processes that take part in one scenario after the other; who has ended is replaced. */
export class RankPool implements AsyncDisposable {
  readonly #children: ChildProcess[] = [];

  /** All of them have started: none is late for what comes. */
  async take(count: number): Promise<readonly ChildProcess[]> {
    const starting: Promise<unknown>[] = [];
    for (let rank = 0; rank < count; rank++) {
      const known = this.#children[rank];
      if (known && known.exitCode === null && known.signalCode === null) continue;
      const child = fork(entry, {
        serialization: 'advanced',
        execArgv: [...process.execArgv, '--expose-gc'],
      });
      this.#children[rank] = child;
      starting.push(started(child));
    }
    await Promise.all(starting);
    return this.#children.slice(0, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.splice(0).map(kill));
  }
}

/** Waits for its first words. @throws Error where it ends instead */
function started(child: ChildProcess): Promise<unknown> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`a rank has ended by ${signal ?? code} before it was asked for anything`);
  });
  return Promise.race([once(child, 'message'), ended]);
}

/** Ends a process of ours in the middle of whatever it does. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
