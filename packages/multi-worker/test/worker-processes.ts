import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import type { WorkerAnswer, WorkerTask } from './fixtures/worker-process.ts';

/** Processes that are the workers of one group after the other. */
export class WorkerProcesses implements AsyncDisposable {
  readonly #server: TcpStoreServer;
  readonly #children: readonly ChildProcess[];
  #generation = 0;

  private constructor(server: TcpStoreServer, children: readonly ChildProcess[]) {
    this.#server = server;
    this.#children = children;
  }

  static async start(size: number): Promise<WorkerProcesses> {
    const jobKey = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'workers', jobKey });
    const children = Array.from({ length: size }, (_, rank) =>
      fork(fileURLToPath(new URL('./fixtures/worker-process.ts', import.meta.url)), {
        execArgv: ['--conditions=@coll/source', '--import', 'tsx'],
        env: {
          ...process.env,
          COLL_STORE: server.address,
          COLL_JOB: 'workers',
          COLL_JOB_KEY: jobKey,
          COLL_RANK: `${rank}`,
          COLL_SIZE: `${size}`,
        },
      }),
    );
    return new WorkerProcesses(server, children);
  }

  /** All of them open a group and play a scenario; what each found, or went wrong. */
  play(task: Omit<WorkerTask, 'generation'>): Promise<WorkerAnswer[]> {
    const generation = this.#generation++;
    return Promise.all(
      this.#children.map(async (child) => {
        const settled = new AbortController();
        const { signal } = settled;
        const answered = Promise.race([
          once(child, 'message', { signal }).then(([answer]) => answer as WorkerAnswer),
          once(child, 'exit', { signal }).then(([code, by]) => ({ error: `the worker ended by ${by ?? code}` })),
        ]);
        child.send({ ...task, generation });
        return answered.finally(() => settled.abort());
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }),
    );
    await this.#server.close();
  }
}
