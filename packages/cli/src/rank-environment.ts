/** The settings that all ranks of a job share. */
export interface Job {
  readonly name: string;
  /** The secret of the job, passed to ranks but never printed. */
  readonly key: string;
  /** The absolute path of the file with the secret, if the secret is not new. */
  readonly keyFile: string | undefined;
  /** The address of the store: `tcp://host:port`. */
  readonly store: string;
  readonly size: number;
  /** Seconds after which a waiting rank reports which ranks it waits for; undefined means never. */
  readonly stallSeconds: number | undefined;
  /** The file to which ranks append their reports of long waits. */
  readonly stallFile: string;
}

export const launcherVariables: readonly string[] = [
  'COLL_RANK',
  'COLL_SIZE',
  'COLL_LOCAL_RANK',
  'COLL_LOCAL_SIZE',
  'COLL_STORE',
  'COLL_JOB',
  'COLL_JOB_KEY',
  'COLL_JOB_KEY_FILE',
  'COLL_GENERATION',
  'COLL_RESTART',
  'COLL_STALL_SECONDS',
  'COLL_STALL_FILE',
];

/**
 * The environment variables that describe a rank and its job to the rank's process. All ranks are
 * on this machine.
 */
export function rankEnvironment(job: Job, rank: number, restart: number): Readonly<Record<string, string>> {
  return {
    COLL_RANK: String(rank),
    COLL_SIZE: String(job.size),
    COLL_LOCAL_RANK: String(rank),
    COLL_LOCAL_SIZE: String(job.size),
    COLL_STORE: job.store,
    COLL_JOB: job.name,
    // The other variable is emptied, because an inherited one is not meant for these ranks.
    COLL_JOB_KEY: job.keyFile ? '' : job.key,
    COLL_JOB_KEY_FILE: job.keyFile ?? '',
    COLL_GENERATION: String(restart),
    COLL_RESTART: String(restart),
    // Without reports, 0 overrides an inherited value, which is not meant for these ranks.
    COLL_STALL_SECONDS: String(job.stallSeconds ?? 0),
    COLL_STALL_FILE: job.stallSeconds === undefined ? '' : job.stallFile,
  };
}

/** The properties of a terminal that determine its colors. */
interface Screen {
  readonly isTTY?: boolean;
  getColorDepth?(): number;
}

const levels: ReadonlyMap<number, string> = new Map([
  [4, '1'],
  [8, '2'],
  [24, '3'],
]);

/**
 * The variables that make ranks print colors into their pipe if the launcher's output is a terminal
 * with colors; empty if the user has set a preference.
 */
export function colourEnvironment(
  screen: Screen,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const isDecided = environment['FORCE_COLOR'] !== undefined || environment['NO_COLOR'] !== undefined;
  const level = screen.isTTY && !isDecided ? levels.get(screen.getColorDepth?.() ?? 1) : undefined;
  return level === undefined ? {} : { FORCE_COLOR: level };
}
