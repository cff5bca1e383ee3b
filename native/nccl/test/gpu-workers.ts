import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import './doubles.ts';
import type { GpuTask } from './fixtures/gpu-worker.ts';

/** What came of a task: a result, or an error in words; neither where the worker was killed. */
export interface GpuAnswer<Result> {
  readonly result?: Result;
  readonly error?: { readonly name: string; readonly code: string; readonly message: string; readonly rank?: number };
}

/** Processes that are the workers of one strategy after the other. */
export class GpuWorkers implements AsyncDisposable {
  readonly #server: TcpStoreServer;
  readonly #children: readonly ChildProcess[];
  #generation = 0;

  private constructor(server: TcpStoreServer, children: readonly ChildProcess[]) {
    this.#server = server;
    this.#children = children;
  }

  /** One for each of these environments, on top of this process's. */
  static async start(environments: readonly NodeJS.ProcessEnv[]): Promise<GpuWorkers> {
    const key = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'gpus', jobKey: key });
    const size = String(environments.length);
    const seat = { COLL_STORE: server.address, COLL_JOB: 'gpus', COLL_JOB_KEY: key, COLL_SIZE: size };
    const children = environments.map((environment, rank) =>
      fork(fileURLToPath(new URL('./fixtures/gpu-worker.ts', import.meta.url)), {
        execArgv: ['--conditions=@coll/source', '--import', 'tsx'],
        env: { ...process.env, ...seat, COLL_RANK: String(rank), ...environment },
      }),
    );
    return new GpuWorkers(server, children);
  }

  /** Each plays the scenario with a strategy on its devices. */
  play<Result>(
    scenario: GpuTask['scenario'],
    devicesOf: (worker: number) => readonly string[],
    implementation: GpuTask['implementation'] = 'NCCL',
  ): Promise<GpuAnswer<Result>[]> {
    const generation = this.#generation++;
    const answers = this.#children.map(async (child, worker) => {
      const settled = new AbortController();
      const { signal } = settled;
      const answered = Promise.race([
        once(child, 'message', { signal }).then(([answer]) => answer as GpuAnswer<Result>),
        once(child, 'exit', { signal }).then(() => ({})),
      ]);
      child.send({ scenario, generation, devices: devicesOf(worker), implementation } satisfies GpuTask);
      return answered.finally(() => settled.abort());
    });
    return Promise.all(answers);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    await this.#server.close();
  }
}
