import type { ChildProcess } from 'node:child_process';
import type { CollError } from '@coll/core';
import type { Store } from '@coll/rendezvous';
import { JobProcesses } from '../../rendezvous/test/job-processes.ts';
import type { OpenProcessGroupOptions } from '../src/index.js';
import type { Report, Task } from './fixtures/member.js';

/** What a member answers where it cannot do what it is asked for. */
export type Failed = Pick<CollError, 'name' | 'code' | 'message' | 'rank' | 'operation'>;

/** A process that does what it is asked for. */
export class MemberProcess {
  readonly child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #next = 0;

  constructor(child: ChildProcess) {
    this.child = child;
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

/** Processes that can meet, under one job after the other. */
export class Members implements AsyncDisposable {
  readonly all: readonly MemberProcess[];
  readonly #job: JobProcesses;

  private constructor(job: JobProcesses) {
    this.#job = job;
    this.all = job.children.map((child) => new MemberProcess(child));
  }

  static async start(count: number): Promise<Members> {
    return new Members(await JobProcesses.start(new URL('./fixtures/member.ts', import.meta.url), count));
  }

  /** The store in which they meet. */
  store(): Promise<Store> {
    return this.#job.store();
  }

  /** The number of the next group of these processes. */
  nextGeneration(): number {
    return this.#job.nextGeneration();
  }

  /** Opens a group of all of them, of the next generation. */
  async open(options: OpenProcessGroupOptions = {}): Promise<readonly unknown[]> {
    const generation = this.nextGeneration();
    // A machine that is busy with other tests may leave a member alone for some seconds.
    const patience = { timeoutSeconds: 120, heartbeatSeconds: 20 };
    return Promise.all(
      this.all.map((member) => member.ask({ do: 'open', options: { generation, ...patience, ...options } })),
    );
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#job[Symbol.asyncDispose]();
  }
}
