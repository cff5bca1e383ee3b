import { type AnswerOrEnd, JobProcesses } from '../../../packages/rendezvous/test/job-processes.ts';
import './doubles.ts';
import type { GpuTask } from './fixtures/gpu-worker.ts';

/** What came of a task: a result, or an error in words; how it ended where it was killed. */
export interface GpuAnswer<Result> extends AnswerOrEnd {
  readonly result?: Result;
  readonly error?: { readonly name: string; readonly code: string; readonly message: string; readonly rank?: number };
}

/** Processes that are the workers of one strategy after the other. */
export class GpuWorkers implements AsyncDisposable {
  readonly #processes: JobProcesses;

  private constructor(processes: JobProcesses) {
    this.#processes = processes;
  }

  /** One for each of these environments, on top of this process's. */
  static async start(environments: readonly NodeJS.ProcessEnv[]): Promise<GpuWorkers> {
    return new GpuWorkers(await JobProcesses.start(new URL('./fixtures/gpu-worker.ts', import.meta.url), environments));
  }

  /** Runs the scenario on each worker, with a strategy on the devices of the worker. */
  run<Result>(
    scenario: GpuTask['scenario'],
    devicesOf: (worker: number) => readonly string[],
    implementation: GpuTask['implementation'] = 'NCCL',
    checkCalls = false,
  ): Promise<GpuAnswer<Result>[]> {
    return this.#processes.run((worker): Omit<GpuTask, 'generation'> => {
      return { scenario, devices: devicesOf(worker), implementation, checkCalls };
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#processes[Symbol.asyncDispose]();
  }
}
