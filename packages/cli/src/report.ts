import type { RunRequest } from './arguments.js';
import type { Ending } from './rank.js';

/** The rank that failed first: it may have caused the other failures. */
export interface Failure extends Ending {
  readonly rank: number;
  /** The last lines of its stderr. */
  readonly lastLines: readonly string[];
  /** Ranks that had to be ended because of it. */
  readonly others: readonly number[];
  /** The rank that it lost, where that one had not ended by itself: it was stopped, or hung. */
  readonly lost: number | undefined;
}

/** Says which rank failed first, and how, after the rank that it lost: the last words of the launcher, or the next to last where it restarts. */
export function tellFailure(
  { rank, told, lastLines, others, lost }: Failure,
  request: RunRequest,
  restart: number | undefined,
): void {
  // The output of a single rank has just been printed.
  if (request.ranks > 1 && lastLines.length > 0)
    tell([`the last lines of rank ${rank} on stderr:`, ...lastLines].join('\n  | '));
  const ended = others.length > 0 ? `; ended ${listOf(others)}` : '';
  const again = restart === undefined ? '' : `; restart ${restart} of ${request.maxRestarts}`;
  const cause = lost === undefined ? '' : `rank ${lost} was lost: `;
  tell(`${cause}rank ${rank} ${told}${ended}${again}`);
}

const mostNamed = 16;

/** Such as `ranks 0, 2`. */
export function listOf(ranks: readonly number[]): string {
  const named = ranks.slice(0, mostNamed).join(', ');
  const more = ranks.length > mostNamed ? ` and ${ranks.length - mostNamed} more` : '';
  return ranks.length === 0 ? 'no rank' : `${ranks.length === 1 ? 'rank' : 'ranks'} ${named}${more}`;
}

/** What the launcher itself has to say. */
export function tell(text: string): void {
  process.stderr.write(`coll run: ${text}\n`);
}
