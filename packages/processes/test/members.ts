import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { CollError } from '@coll/core';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import type { OpenProcessGroupOptions } from '../src/index.js';
import type { Report, Task } from './fixtures/member.js';

/** What a member answers where it cannot do what it is asked for. */
export type Failed = Pick<CollError, 'name' | 'code' | 'message' | 'rank' | 'operation'>;

/** A process that does what it is asked for. */
export class MemberProcess {
  readonly child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #next = 0;

  constructor(environment: Readonly<Record<string, string>>) {
    this.child = fork(path.join(import.meta.dirname, 'fixtures/member.ts'), {
      execArgv: ['--conditions=@coll/source', '--import', 'tsx'],
      env: { ...process.env, ...environment },
    });
    this.child.on('message', ({ id, value, error }: Report) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) waiting?.reject(error);
      else waiting?.resolve(value);
    });
    this.child.once('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the member ended by ${signal ?? code}`));
    });
  }

  ask<Result = unknown>(task: Task): Promise<Result> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Result), reject });
      this.child.send({ id, task });
    });
  }

  /** What it answers where it cannot do that. @throws Error where it can */
  async failure(task: Task): Promise<Failed> {
    let value: unknown;
    try {
      value = await this.ask(task);
    } catch (error) {
      return error as Failed;
    }
    throw new Error(`it was expected to fail, and answered ${JSON.stringify(value)}`);
  }
}

/** Processes with a store in which they can meet, under one job after the other. */
export class Members implements AsyncDisposable {
  readonly all: readonly MemberProcess[];
  readonly jobKey: string;
  readonly address: string;
  readonly #server: TcpStoreServer;
  #generation = 0;

  private constructor(server: TcpStoreServer, jobKey: string, count: number) {
    this.#server = server;
    this.jobKey = jobKey;
    this.address = server.address;
    this.all = Array.from({ length: count }, (_, rank) => new MemberProcess(this.#environment(rank, count)));
  }

  static async start(count: number): Promise<Members> {
    const jobKey = TcpStoreServer.newKey();
    const server = await TcpStoreServer.listen({ job: 'test', jobKey });
    return new Members(server, jobKey, count);
  }

  /** Opens a group of all of them, of the next generation. */
  async open(options: OpenProcessGroupOptions = {}): Promise<readonly unknown[]> {
    const generation = this.#generation++;
    return Promise.all(
      this.all.map((member) => member.ask({ do: 'open', options: { generation, timeoutSeconds: 20, ...options } })),
    );
  }

  /** A store for this process, to take part or to look. */
  store(): Promise<TcpStore> {
    return TcpStore.connect({ address: this.address, job: 'test', jobKey: this.jobKey });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.all.map(async ({ child }) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }),
    );
    await this.#server.close();
  }

  #environment(rank: number, size: number): Readonly<Record<string, string>> {
    return {
      COLL_STORE: this.address,
      COLL_JOB: 'test',
      COLL_JOB_KEY: this.jobKey,
      COLL_RANK: String(rank),
      COLL_SIZE: String(size),
    };
  }
}
