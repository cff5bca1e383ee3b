import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { NpmWatch } from './npm-watch.js';
import { tell } from './report.js';

/** The reason why a run is ended from outside, and its exit code. */
interface Interruption {
  readonly exitCode: number;
  readonly message: string;
}

/** The processes that an interruption ends. */
export interface Interruptible {
  /** Which of them are still running, for messages; undefined if none is. */
  readonly runningText: string | undefined;
  readonly isEnding: boolean;
  /** Ends the processes within the grace period. */
  interrupt(): void;
  /** Kills the processes at once. */
  kill(): void;
}

const timedOut = 124;
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * Milliseconds within which two SIGINTs count as one Ctrl-C: the terminal sends one, and npm or
 * npx, if it started the launcher, forwards another.
 */
const echoMillis = 250;

/**
 * Ends a run on a signal, after a timeout, when its output pipe is closed, or when the npm process
 * that started it exits.
 */
export class Interruptions implements Disposable {
  first: Interruption | undefined;
  #group: Interruptible | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #npm = new NpmWatch(() => this.#onEndOfNpm());
  #interruptedAt = Number.NEGATIVE_INFINITY;

  constructor(timeoutSeconds: number | undefined) {
    for (const signal of stopSignals) process.on(signal, this.#onSignal);
    for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0).on('error', this.#onBrokenOutput);
    if (timeoutSeconds === undefined) return;
    this.#timer = setTimeout(() => {
      this.#end({ exitCode: timedOut, message: `timed out after ${timeoutSeconds} seconds; ${this.#stateOfRanks()}` });
    }, timeoutSeconds * 1000);
  }

  watch(group: Interruptible): void {
    this.#group = group;
    if (this.first) group.interrupt();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#npm[Symbol.dispose]();
    for (const signal of stopSignals) process.off(signal, this.#onSignal);
  }

  #stateOfRanks(): string {
    if (!this.#group) return 'no rank had started';
    const { runningText } = this.#group;
    if (runningText !== undefined) return `still running: ${runningText}`;
    return 'all ranks have ended, but a process that they started still runs, or nobody reads their output';
  }

  readonly #onSignal = (signal: (typeof stopSignals)[number]) => {
    if (signal === 'SIGINT') {
      const now = performance.now();
      if (isatty(0) && now - this.#interruptedAt < echoMillis) return;
      this.#interruptedAt = now;
      if (this.#group?.isEnding) this.#group.kill();
    }
    this.#end({
      exitCode: 128 + constants.signals[signal],
      message: `${signal}: ending ${this.#group?.runningText ?? 'no rank'}`,
    });
  };

  #onEndOfNpm(): void {
    const message = `npm, which started this launcher, has ended: ending ${this.#group?.runningText ?? 'no rank'}`;
    this.#end({ exitCode: 128 + constants.signals.SIGTERM, message });
  }

  readonly #onBrokenOutput = ({ message }: Error) => {
    this.#end({ exitCode: 128 + constants.signals.SIGPIPE, message: `the output pipe was closed: ${message}` });
  };

  #end(interruption: Interruption): void {
    if (this.first) return;
    this.first = interruption;
    tell(interruption.message);
    this.#group?.interrupt();
  }
}
