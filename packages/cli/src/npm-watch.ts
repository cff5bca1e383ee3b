import { type ProcessStat, processStat } from './process-stat.js';

const lookEveryMillis = 500;

/**
 * Notices that npm has ended, or npx, which started this launcher by a shell that passes no signal on. Only Linux tells who has started whom;
 * elsewhere nothing is noticed.
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

/** One script of npm may run another. What has left its process group, as by `setsid`, is meant to outlive it. */
function npmsAbove(): readonly ProcessStat[] {
  const found: ProcessStat[] = [];
  const own = processStat('self');
  if (!own) return found;
  for (let above = processStat(own.parent); above?.group === own.group; above = processStat(above.parent)) {
    // As npm and npx call themselves: `npm exec coll`, `npm run train`.
    if (above.name.startsWith('npm ')) found.push(above);
  }
  return found;
}

function isThere({ pid, startedAt }: ProcessStat): boolean {
  const stat = processStat(pid);
  return stat?.startedAt === startedAt && stat.state !== 'Z';
}
