import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Interruptible } from './interruptions.js';
import { LastLines } from './last-lines.js';
import { GroupEnder, isGroupAlive, ownGroup } from './process-group.js';
import { type RunOutcome, replicasText, type TriedRun } from './try-outcome.js';
import { WholeLines } from './whole-lines.js';

/** Seconds that the process has to end by itself after its outcome has arrived, and between SIGTERM and SIGKILL. */
const graceSeconds = 1;

/** The process of one run of `coll try`. */
export class TryProcess implements Interruptible {
  /** Resolves once the process has ended. */
  readonly outcome: Promise<RunOutcome>;
  readonly lastLines = new LastLines();
  readonly #replicas: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #ender = new GroupEnder();
  readonly #atOnce = new AbortController();
  readonly #isShown: boolean;
  #isRunning = true;
  #ending: Promise<void> | undefined;

  /** @param isShown whether to print the output of the run, on stderr */
  constructor(run: TriedRun, isShown: boolean) {
    this.#replicas = run.replicas;
    this.#isShown = isShown;
    const isSource = import.meta.url.endsWith('.ts');
    const file = fileURLToPath(new URL(`./try-run${isSource ? '.ts' : '.js'}`, import.meta.url));
    this.#child = spawn(process.execPath, [...(isSource ? process.execArgv : []), file], {
      ...ownGroup,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#exited = once(this.#child, 'exit');
    // `#outcomeOf` reports it.
    this.#exited.catch(() => {});
    this.outcome = this.#outcomeOf(run);
  }

  get runningText(): string | undefined {
    return this.#isRunning ? `the run with ${replicasText(this.#replicas)}` : undefined;
  }

  get isEnding(): boolean {
    return this.#ending !== undefined;
  }

  interrupt(): void {
    void this.#end();
  }

  kill(): void {
    this.#atOnce.abort();
    void this.#end();
  }

  async #outcomeOf(run: TriedRun): Promise<RunOutcome> {
    const printed = [this.#child.stdout, this.#child.stderr].map((stream) => this.#keepLines(stream as Readable));
    let outcome: RunOutcome | undefined;
    this.#child.once('message', (message: RunOutcome) => {
      outcome = message;
    });
    try {
      this.#child.send(run, () => {});
      // It rejects as `#exited` does, if the process cannot be started.
      const told = once(this.#child, 'message').catch(() => {});
      await Promise.race([this.#exited, told]);
      await Promise.race([this.#exited, seconds(graceSeconds)]);
      await this.#end();
      await Promise.race([Promise.all(printed), seconds(graceSeconds)]);
      const [code, signal] = (await this.#exited) as [number | null, NodeJS.Signals | null];
      const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
      return outcome ?? { failure: `its process ${how} before the measurement had ended` };
    } catch (error) {
      return { failure: `its process could not be started: ${(error as Error).message}` };
    } finally {
      this.#isRunning = false;
    }
  }

  /** Ends the process and what it has started. */
  #end(): Promise<void> {
    const { pid } = this.#child;
    this.#ending ??=
      pid !== undefined && isGroupAlive(pid)
        ? this.#ender.end(pid, graceSeconds, this.#atOnce.signal)
        : Promise.resolve();
    return this.#ending;
  }

  #keepLines(stream: Readable): Promise<unknown> {
    const lines = stream.pipe(new WholeLines()).on('data', (text: Buffer) => {
      this.lastLines.add(text);
      if (this.#isShown) process.stderr.write(text);
    });
    return once(lines, 'end');
  }
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000 * count).unref());
}
