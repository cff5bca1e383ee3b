import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { probe } from '@coll/nccl';
import { partOf } from './parts.js';
import { type Facts, NotHere } from './step.js';

/** How many calls are timed in a row, and how often. */
export interface Timing {
  readonly bytes: number;
  readonly calls: number;
  readonly repetitions: number;
  /** Whether each call is awaited before the next one starts. Otherwise all calls are awaited at the end. */
  readonly isEach: boolean;
}

/** A program in another language that makes the same calls. `c/calls.c` documents its protocol. */
export class OtherProgram implements AsyncDisposable {
  /** The facts that the program reports about itself. */
  readonly facts: Facts;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  readonly #failure: () => string;

  private constructor(
    child: ChildProcessWithoutNullStreams,
    lines: AsyncIterator<string>,
    facts: Facts,
    failure: () => string,
  ) {
    this.#child = child;
    this.#lines = lines;
    this.#failure = failure;
    this.facts = facts;
  }

  /**
   * Starts the program in C, with the libraries of this process. `rank` and `idFile`: the program is one
   * of two ranks that exchange their id through this file.
   */
  static inC(arenaMebibytes: number, rank?: number, idFile = '', env = process.env): Promise<OtherProgram> {
    const { driver, nccl } = probe();
    const args = [driver?.path ?? '', nccl?.path ?? '', String(arenaMebibytes)];
    if (rank !== undefined) args.push(String(rank), idFile);
    return OtherProgram.start(partOf('calls'), args, env);
  }

  /** Starts the program for PyTorch. @throws NotHere if PyTorch is missing */
  static async inPyTorch(arenaMebibytes: number): Promise<OtherProgram> {
    const started = await OtherProgram.start('python3', [partOf('torch_calls.py'), String(arenaMebibytes)]);
    const { missing } = started.facts;
    if (missing === undefined) return started;
    await started[Symbol.asyncDispose]();
    throw new NotHere(`no PyTorch to compare with: ${missing}`);
  }

  /** @throws NotHere if there is no such program @throws Error if the program ends before it is ready */
  static async start(command: string, args: readonly string[], env = process.env): Promise<OtherProgram> {
    const child = spawn(command, args, { env });
    let said = '';
    child.stderr.on('data', (data) => {
      said = `${said}${data}`.slice(-500);
    });
    const missing = new Promise<never>((_, reject) => {
      child.on('error', ({ message }) => reject(new NotHere(`${command} cannot be started: ${message}`)));
    });
    // The program may have ended. `next` then reports its output.
    child.stdin.on('error', () => undefined);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const failure = () => `${command} has ended: ${said.trim() || 'it said nothing'}`;
    const first = await Promise.race([next(lines, /^\{/, failure), missing]);
    return new OtherProgram(child, lines, JSON.parse(first) as Facts, failure);
  }

  /** Times calls. @returns the nanoseconds per call of each repetition */
  async times(what: string, { bytes, calls, repetitions, isEach }: Timing): Promise<number[]> {
    this.#child.stdin.write(`${[what, bytes, calls, repetitions, Number(isEach)].join(' ')}\n`);
    const line = await next(this.#lines, /^[\d. ]+$/, this.#failure);
    return line.trim().split(' ').map(Number);
  }

  /** Ends the program, and waits until it has freed its memory. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.on('exit', resolve));
    this.#child.stdin.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await ended;
  }
}

/** The next line that matches. NCCL prints other lines if `NCCL_DEBUG` is set. */
async function next(lines: AsyncIterator<string>, expected: RegExp, failure: () => string): Promise<string> {
  for (;;) {
    const { value, done } = await lines.next();
    if (done) throw new Error(failure());
    if (expected.test(value)) return value;
  }
}
