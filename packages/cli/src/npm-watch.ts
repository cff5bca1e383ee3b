import { type ProcessStat, processStat } from './process-stat.js';

const lookEveryMillis = 500;

/**
 * Calls `onEnd` when the npm or npx process that started this launcher has exited. The launcher
 * gets no signal then, because the shell between them does not forward signals. Works only on
 * Linux, which reports parent processes.
 */
export class NpmWatch implements Disposable {
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(onEnd: () => void) {
    const found = npmsAbove();
    if (found.length === 0) return;
    this.#timer = setInterval(() => {
      if (found.every(isThere)) return;
      clearInterval(this.#timer);
      onEnd();
    }, lookEveryMillis).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/**
 * The npm processes among the ancestors of this process; there are several if npm scripts run each
 * other. The search stops at the first ancestor in another process group: a process that left npm's
 * group, for example with `setsid`, is meant to outlive npm.
 */
function npmsAbove(): readonly ProcessStat[] {
  const found: ProcessStat[] = [];
  const own = processStat('self');
  if (!own) return found;
  for (let above = processStat(own.parent); above?.group === own.group; above = processStat(above.parent)) {
    // npm and npx set their process names to `npm exec coll` or `npm run train`, for example.
    if (above.name.startsWith('npm ')) found.push(above);
  }
  return found;
}

function isThere({ pid, startedAt }: ProcessStat): boolean {
  const stat = processStat(pid);
  return stat?.startedAt === startedAt && stat.state !== 'Z';
}
