import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { rankList } from '@coll/core/internal';
import { NpmWatch } from './npm-watch.js';
import type { RankGroup } from './rank-group.js';
import { tell } from './report.js';

/** The reason why a run is ended from outside, and its exit code. */
interface Interruption {
  readonly exitCode: number;
  readonly message: string;
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
  #group: RankGroup | undefined;
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

  watch(group: RankGroup): void {
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
    const { running } = this.#group;
    if (running.length > 0) return `still running: ${rankList(running)}`;
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
      message: `${signal}: ending ${rankList(this.#group?.running ?? [])}`,
    });
  };

  #onEndOfNpm(): void {
    const message = `npm, which started this launcher, has ended: ending ${rankList(this.#group?.running ?? [])}`;
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
