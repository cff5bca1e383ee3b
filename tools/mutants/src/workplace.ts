import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Source } from './mutants.ts';

const vitest = 'node_modules/vitest/vitest.mjs';
const options = ['--root', '.', '--config', 'tools/mutants/vitest.config.ts'];

export type Outcome = 'passed' | 'failed' | 'timed out';

/**
 * A copy of the repository's files in a temporary folder, whose sources are replaced while its tests run. Child
 * processes and worker threads that the tests start read the same files.
 */
export class Workplace {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'coll-mutants-'));
  readonly #reached = path.join(this.folder, '.reached');

  constructor(root: string, files: readonly string[]) {
    for (const file of files) {
      mkdirSync(path.dirname(this.#at(file)), { recursive: true });
      cpSync(path.join(root, file), this.#at(file));
    }
    // If the folder were linked as a whole, packages would lead back to the original sources.
    mkdirSync(this.#at('node_modules/@coll'), { recursive: true });
    for (const name of readdirSync(path.join(root, 'node_modules'))) {
      if (name !== '@coll' && !name.startsWith('.vite')) this.#link(root, `node_modules/${name}`);
    }
    for (const name of readdirSync(path.join(root, 'node_modules/@coll'))) {
      cpSync(path.join(root, 'node_modules/@coll', name), this.#at(`node_modules/@coll/${name}`), {
        verbatimSymlinks: true,
      });
    }
    for (const parent of ['packages', 'native', 'tools']) {
      for (const name of readdirSync(path.join(root, parent))) {
        for (const ignored of ['node_modules', 'build']) this.#link(root, `${parent}/${name}/${ignored}`);
      }
    }
    writeFileSync(this.#reached, '');
  }

  write({ name, content }: Source): void {
    writeFileSync(this.#at(name), content);
  }

  /** Writes a source that Stryker instrumented, and that notes the reached mutants in a file. */
  writeNoting({ name, content }: Source): void {
    // Hot code calls this, so it must be fast.
    const note = `
      var known = (globalThis.reachedMutants ??= new Set());
      for (var index = 0; index < arguments.length; index++) {
        if (known.has(arguments[index])) continue;
        known.add(arguments[index]);
        process.getBuiltinModule('node:fs').appendFileSync(${JSON.stringify(this.#reached)}, arguments[index] + '\\n');
      }
      return;`;
    this.write({ name, content: content.replace(/function stryCov_9fa48\(\) \{/, (head) => head + note) });
  }

  /** Returns the ids of the mutants that tests have reached since the last call. */
  takeReached(): Set<string> {
    const ids = readFileSync(this.#reached, 'utf8').split('\n').filter(Boolean);
    writeFileSync(this.#reached, '');
    return new Set(ids);
  }

  /** All test files that vitest would run. */
  async testFiles(): Promise<string[]> {
    const list = [vitest, 'list', '--filesOnly', '--json', ...options];
    const { stdout } = await promisify(execFile)(process.execPath, list, { cwd: this.folder });
    const entries: { file: string }[] = JSON.parse(stdout);
    return entries.map(({ file }) => path.relative(this.folder, file)).sort();
  }

  /** Runs test files in the given order until one fails, or until no file has ended for `limitSeconds`. */
  async test(files: readonly string[], limitSeconds: number): Promise<{ outcome: Outcome; output: string }> {
    const vitest = [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--root',
      '.',
      '--config',
      'tools/mutants/vitest.config.ts',
    ];
    const child = spawn(process.execPath, [...vitest, ...files], {
      cwd: this.folder,
      // Its own process group, which can be killed as a whole.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    }, limitSeconds * 1000);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        // Vitest prints a line when a file has ended.
        limit.refresh();
      });
    }
    const [code] = await once(child, 'exit');
    clearTimeout(limit);
    this.#endOrphans();
    if (isLate) return { outcome: 'timed out', output };
    return { outcome: code === 0 ? 'passed' : 'failed', output };
  }

  remove(): void {
    this.#endOrphans();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** Kills the child processes that a test left behind. */
  #endOrphans(): void {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const places = readlinkSync(`/proc/${pid}/cwd`) + readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        if (places.includes(this.folder)) process.kill(Number(pid), 'SIGKILL');
      } catch {
        // The process has ended, or belongs to another user.
      }
    }
  }

  #at(file: string): string {
    return path.join(this.folder, file);
  }

  #link(root: string, file: string): void {
    const target = path.join(root, file);
    try {
      readdirSync(target);
    } catch {
      return;
    }
    symlinkSync(target, this.#at(file));
  }
}
