import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';

/** What a process answers, all of which may be absent; this alone where it has ended instead. */
export interface AnswerOrEnd {
  readonly endedBy?: string;
}

/** The ranks of a job, each a process that runs the same fixture, with a store in which they can meet. */
export class JobProcesses implements AsyncDisposable {
  readonly children: readonly ChildProcess[];
  readonly #server: TcpStoreServer;
  readonly #jobKey: string;
  #generation = 0;

  private constructor(
    server: TcpStoreServer,
    jobKey: string,
    fixture: URL,
    environments: readonly NodeJS.ProcessEnv[],
  ) {
    this.#server = server;
    this.#jobKey = jobKey;
    const size = String(environments.length);
    const config = { COLL_STORE: server.address, COLL_JOB: 'test', COLL_JOB_KEY: jobKey, COLL_SIZE: size };
    this.children = environments.map((environment, rank) =>
      fork(fileURLToPath(fixture), {
        execArgv: [],
        env: { ...process.env, ...config, COLL_RANK: String(rank), ...environment },
      }),
    );
  }

  /** So many, or one for each of these environments, on top of this process's. */
  static async start(fixture: URL, ranks: number | readonly NodeJS.ProcessEnv[]): Promise<JobProcesses> {
    const jobKey = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'test', jobKey });
    return new JobProcesses(server, jobKey, fixture, typeof ranks === 'number' ? Array(ranks).fill({}) : ranks);
  }

  /** The store in which they meet. */
  store(): Promise<TcpStore> {
    return TcpStore.connect({ address: this.#server.address, job: 'test', jobKey: this.#jobKey });
  }

  /** The number of the next group of these processes. */
  nextGeneration(): number {
    return this.#generation++;
  }

  /** Sends each its task, and the number of a new group: what each answers. */
  run<Answer extends AnswerOrEnd>(taskOf: (rank: number) => object): Promise<Answer[]> {
    const generation = this.nextGeneration();
    const answers = this.children.map((child, rank) => {
      const settled = new AbortController();
      const { signal } = settled;
      const answered = Promise.race([
        once(child, 'message', { signal }).then(([answer]) => answer as Answer),
        once(child, 'exit', { signal }).then(([code, by]) => ({ endedBy: `${by ?? code}` }) as Answer),
      ]);
      child.send({ ...taskOf(rank), generation });
      return answered.finally(() => settled.abort());
    });
    return Promise.all(answers);
  }

  /** Ends those that are still there. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.children.map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }),
    );
    await this.#server.close();
  }
}
