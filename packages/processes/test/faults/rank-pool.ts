import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const entry = fileURLToPath(new URL('./rank.ts', import.meta.url));
const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;

/** Processes that take part in one scenario after the other; who has ended is replaced. */
export class RankPool implements AsyncDisposable {
  readonly #children: ChildProcess[] = [];

  take(count: number): readonly ChildProcess[] {
    for (let rank = 0; rank < count; rank++) {
      const known = this.#children[rank];
      if (known && known.exitCode === null && known.signalCode === null) continue;
      this.#children[rank] = fork(entry, {
        serialization: 'advanced',
        execArgv: ['--expose-gc', '--import', tsx, '--conditions=@coll/source'],
      });
    }
    return this.#children.slice(0, count);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#children.splice(0).map(kill));
  }
}

/** Ends a process of ours in the middle of whatever it does. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}
