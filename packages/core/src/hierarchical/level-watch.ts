import type { CollError } from '../support/errors.js';
import type { Level } from './level.js';

// Interval at which one level checks whether another one has failed.
const lookMillis = 20;

/**
 * Watches the levels of a communicator (groups within and across workers) for failures, because a
 * call waits in only one level while remote ranks may wait in another. Needs a running event loop:
 * a blocked thread notices a failure only when it next uses the level.
 */
export class LevelWatch {
  readonly #levels: readonly Level[];
  readonly #tell: (failure: CollError) => void;
  readonly #timer: ReturnType<typeof setInterval>;
  /**
   * The levels (groups within and across workers) that the current call still needs; undefined if
   * no call is under way.
   */
  #needed: readonly Level[] | undefined;

  /**
   * Calls `tell` with the failure of a level (a group within or across workers). Ranks in the
   * failure are those of the whole group.
   */
  constructor(levels: readonly Level[], tell: (failure: CollError) => void) {
    this.#levels = levels;
    this.#tell = tell;
    this.#timer = setInterval(() => this.#look(), lookMillis);
    // The timer must not keep the program alive. In browsers, timers are numbers without `unref`.
    (this.#timer as { unref?(): void }).unref?.();
  }

  /**
   * Called when a stage of a call begins. From then on, only `later`, the group that later stages
   * use, is watched, because failures of other groups no longer affect the call.
   */
  begin(later: Level | undefined): void {
    this.#needed = later ? [later] : [];
  }

  /** Called when a stage of a call has ended. From then on, all groups are watched for failures. */
  rest(): void {
    this.#needed = undefined;
  }

  end(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    for (const level of this.#needed ?? this.#levels) {
      const { failure } = level;
      // Between calls, a rank that has done its part of the last call may leave while others still
      // work on that call.
      if (!failure || (!this.#needed && failure.code === 'ERR_COLL_CLOSED')) continue;
      this.#tell(failure);
      return;
    }
  }
}
