import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { build } from 'tsup';
import { processStat } from '../src/process-stat.ts';

/** What a launcher did. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

// For commander, which is a CommonJS module inside.
const requireForBundle = `import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);`;

const leapingClock = new URL('./fixtures/leaping-clock.mjs', import.meta.url).href;

/** The launcher, built from its sources into a folder of its own: to start TypeScript anew in each test takes too long. */
export class Launcher {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'coll-cli-'));
  readonly #started: Running[] = [];

  /** @param programs more files to build beside it, with all that they import */
  async build(programs: readonly string[] = []): Promise<void> {
    const source = path.join(import.meta.dirname, '../src');
    await build({
      config: false,
      silent: true,
      entry: Object.fromEntries(
        [path.join(source, 'main.ts'), path.join(source, 'watchdog.ts'), ...programs].map((file) => [
          path.basename(file, '.ts'),
          file,
        ]),
      ),
      outDir: path.join(this.folder, 'launcher/dist'),
      outExtension: () => ({ js: '.js' }),
      format: 'esm',
      target: 'node20',
      platform: 'node',
      noExternal: [/^@coll\//, 'commander'],
      external: ['ioredis'],
      banner: { js: requireForBundle },
      esbuildOptions: (options) => {
        options.conditions = ['@coll/source'];
      },
    });
    copyFileSync(path.join(import.meta.dirname, '../package.json'), path.join(this.folder, 'launcher/package.json'));
  }

  write(name: string, text: string): string {
    const file = path.join(this.folder, name);
    writeFileSync(file, text);
    return file;
  }

  start(args: readonly string[], options: SpawnOptions = {}): Running {
    const running = new Running(this.command('run', ...args), { cwd: this.folder, ...options });
    this.#started.push(running);
    return running;
  }

  /** Starts it with a clock that `leap` sets ahead. */
  startWithClock(args: readonly string[], options: SpawnOptions = {}): Running {
    return this.start(args, { ...options, env: { ...options.env, NODE_OPTIONS: `--import=${leapingClock}` } });
  }

  run(...args: readonly string[]): Promise<Outcome> {
    return this.start(args).outcome;
  }

  command(...args: readonly string[]): readonly string[] {
    return [process.execPath, path.join(this.folder, 'launcher/dist/main.js'), ...args];
  }

  /** Ends what a failed test has left running, too. */
  remove(): void {
    for (const { child } of this.#started) child.kill('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A launcher at work. */
export class Running {
  readonly child: ChildProcess;
  readonly outcome: Promise<Outcome>;
  stdout = '';
  stderr = '';
  #onText: () => void = () => {};

  constructor([file = '', ...args]: readonly string[], options: SpawnOptions) {
    const env = { ...plainEnvironment(), ...options.env };
    this.child = spawn(file, args, { ...options, stdio: options.stdio ?? ['ignore', 'pipe', 'pipe'], env });
    this.#collect(this.child.stdout, (text) => {
      this.stdout += text;
    });
    this.#collect(this.child.stderr, (text) => {
      this.stderr += text;
    });
    this.outcome = new Promise((resolve) =>
      this.child.once('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr })),
    );
  }

  /** Waits until it has printed this, to stdout or stderr. */
  async prints(pattern: RegExp): Promise<RegExpMatchArray> {
    for (;;) {
      const found = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
      if (found) return found;
      await Promise.race([
        new Promise<void>((resolve) => {
          this.#onText = resolve;
        }),
        this.outcome.then(() => {
          if (!pattern.test(this.stdout) && !pattern.test(this.stderr))
            throw new Error(`it ended without printing ${pattern}:\n${this.stdout}${this.stderr}`);
        }),
      ]);
    }
  }

  /** Lets more than a week pass for a launcher that `startWithClock` started, once its ranks have printed something. */
  leap(): void {
    this.child.kill('SIGUSR2');
  }

  #collect(stream: Readable | null, add: (text: string) => void): void {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      add(text);
      this.#onText();
    });
  }
}

function isAlive(pid: number): boolean {
  try {
    // In some containers, nobody removes the entries of orphans that have ended.
    return process.kill(pid, 0) && processStat(pid)?.state !== 'Z';
  } catch {
    return false;
  }
}

/** Waits until a process is gone; the test's own time limit is the limit. */
export async function dies(pid: number): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 20));
}

export function linesOf(text: string): readonly string[] {
  return text.split('\n').slice(0, -1);
}

/** Without what npm and vitest tell their children: a user's shell knows none of it. */
function plainEnvironment(): NodeJS.ProcessEnv {
  const isForeign = (name: string) => /^(npm_|NODE_|COLL_|VITEST|FORCE_COLOR$|NO_COLOR$)/.test(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isForeign(name)));
}
