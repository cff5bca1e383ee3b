import { processStat } from './process-stat.js';

const lookEveryMillis = 500;
// A shell, and npm.
const mostSteps = 2;

/**
 * Notices that npm has ended, or npx, which started this launcher by a shell that passes no signal on. Only Linux tells who has started whom;
 * elsewhere nothing is noticed.
 */
export class NpmWatch implements Disposable {
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(onEnd: () => void) {
    const npm = findNpm();
    if (!npm) return;
    this.#timer = setInterval(() => {
      if (isThere(npm)) return;
      clearInterval(this.#timer);
      onEnd();
    }, lookEveryMillis).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

interface Npm {
  readonly pid: number;
  readonly startedAt: number;
}

function findNpm(): Npm | undefined {
  let pid = process.ppid;
  for (let step = 0; step < mostSteps; step++) {
    const stat = processStat(pid);
    if (!stat) return undefined;
    // As npm and npx call themselves: `npm exec coll`, `npm run train`.
    if (stat.name.startsWith('npm ')) return { pid, startedAt: stat.startedAt };
    pid = stat.parent;
  }
  return undefined;
}

function isThere({ pid, startedAt }: Npm): boolean {
  const stat = processStat(pid);
  return stat?.startedAt === startedAt && stat.state !== 'Z';
}
