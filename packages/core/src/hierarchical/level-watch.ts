import type { CollError } from '../support/errors.js';
import type { Level } from './level.js';

// How soon one level learns that another one has failed.
const lookMillis = 20;

/**
 * Looks after levels that wait for ranks elsewhere, in a thread that waits in one of them at most, while others may wait for it in another one. It needs an
 * event loop that turns: who blocks the thread finds out when it comes to the level.
 */
export class LevelWatch {
  readonly #levels: readonly Level[];
  readonly #tell: (failure: CollError) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /** What the call under way still needs; undefined while there is none. */
  #needed: readonly Level[] | undefined;

  /** `tell` is told of a failure, in ranks of the whole. */
  constructor(levels: readonly Level[], tell: (failure: CollError) => void) {
    this.#levels = levels;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#look(), lookMillis);
    // No program goes on for the sake of it. Timers of browsers are numbers.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /** A stage begins, after which another one waits in `later`. Whatever else has failed by then has done its part. */
  begin(later: Level | undefined): void {
    this.#needed = later ? [later] : [];
  }

  /** No stage is under way. */
  rest(): void {
    this.#needed = undefined;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const level of this.#needed ?? this.#levels) {
      const { failure } = level;
      // Between calls a rank may leave when it has had its part of the last one, which others are still about.
      if (!failure || (!this.#needed && failure.code === 'ERR_COLL_CLOSED')) continue;
      this.#tell(failure);
      return;
    }
  }
}
