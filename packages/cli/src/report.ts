import { rankList } from '@coll/core/internal';
import type { RunRequest } from './arguments.js';
import type { Ending } from './rank.js';

/** The failure of the rank that failed first, which may have caused the failures of other ranks. */
export interface Failure extends Ending {
  readonly rank: number;
  /** The last lines of the failed rank on stderr. */
  readonly lastLines: readonly string[];
  /** The other ranks, which were still running and were ended because of this failure. */
  readonly others: readonly number[];
  /**
   * The peer that the failed rank lost; undefined unless that peer was still running, for example
   * stopped or hanging.
   */
  readonly lost: number | undefined;
}

/** Prints which rank failed first and how, the peer that it lost, and whether the ranks restart. */
export function tellFailure(
  { rank, message, lastLines, others, lost }: Failure,
  request: RunRequest,
  restart: number | undefined,
): void {
  // The output of a single rank has just been printed, so it is not repeated.
  if (request.ranks > 1 && lastLines.length > 0)
    tell([`the last lines of rank ${rank} on stderr:`, ...lastLines].join('\n  | '));
  const ended = others.length > 0 ? `; ended ${rankList(others)}` : '';
  const again = restart === undefined ? '' : `; restart ${restart} of ${request.maxRestarts}`;
  const cause = lost === undefined ? '' : `rank ${lost} was lost: `;
  tell(`${cause}rank ${rank} ${message}${ended}${again}`);
}

/** Prints a message of this command itself to stderr. */
export function tell(text: string): void {
  const [, , command = 'run'] = process.argv;
  process.stderr.write(
    `coll ${['store', 'key', 'doctor', 'try', 'trace', 'top'].includes(command) ? command : 'run'}: ${text}\n`,
  );
}
