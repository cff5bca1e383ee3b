import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { TcpStoreServer } from '@coll/rendezvous';
import type { Launcher } from '../launcher.ts';
import { type Mode, modes, type Scenario } from './fault.ts';

// How long the other ranks of a job wait before it is killed: longer than the pulse of a recorder, and than the heartbeats that are missed.
const waitMillis = 5000;
const longestMillis = 60_000;
const root = path.resolve(import.meta.dirname, '../../../..');
const addons = {
  COLL_NATIVE_PATH: path.join(root, 'native/engine/build/release/coll_native.node'),
  COLL_MPI_PATH: path.join(root, 'native/mpi/build/release/coll_mpi.node'),
};

/** The ways of running that this machine has. */
export function availableModes(): readonly Mode[] {
  const hasMpi = spawnSync('mpirun', ['--version'], { stdio: 'ignore' }).error === undefined;
  return modes.filter((mode) => mode !== 'mpirun' || hasMpi);
}

/**
 * Runs a job until it has ended, or kills it some seconds after its fault.
 * @returns the folder with the records of the job, which the caller removes
 */
export async function runFault(launcher: Launcher, scenario: Scenario): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-faults-'));
  const records = path.join(folder, 'records');
  const fifo = path.join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const jobs = await start(launcher, scenario, {
    ...addons,
    COLL_RECORD_DIR: records,
    FAULT: JSON.stringify(scenario),
    FIFO: fifo,
  });
  await end(jobs);
  rmSync(fifo);
  return folder;
}

type Environment = Readonly<Record<string, string>>;

async function start(launcher: Launcher, { mode, size }: Scenario, env: Environment): Promise<readonly ChildProcess[]> {
  const program = path.join(launcher.folder, 'launcher/dist/rank.js');
  const run = (command: readonly string[], more: Environment = {}) =>
    spawn(command[0] as string, command.slice(1), {
      env: { PATH: process.env['PATH'], ...env, ...more },
      stdio: ['ignore', 'pipe', 'ignore'],
      // A group of its own, so that all its processes can be killed at once.
      detached: true,
      cwd: launcher.folder,
    });
  switch (mode) {
    case 'threads':
      return [run([process.execPath, program])];
    case 'coll run':
      return [run(launcher.command('run', '-n', `${size}`, program))];
    case 'mpirun':
      return [run(['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', `${size}`, process.execPath, program])];
    case 'TF_CONFIG': {
      const worker = await Promise.all(Array.from({ length: size }, async () => `127.0.0.1:${await freePort()}`));
      const jobKey = TcpStoreServer.newKey();
      return worker.map((_, index) =>
        run([process.execPath, program], {
          COLL_JOB_KEY: jobKey,
          TF_CONFIG: JSON.stringify({ cluster: { worker }, task: { type: 'worker', index } }),
        }),
      );
    }
  }
}

/** Waits until all processes have ended, or kills them. */
async function end(jobs: readonly ChildProcess[]): Promise<void> {
  const kill = () => {
    for (const { pid } of jobs) {
      try {
        process.kill(-(pid as number), 'SIGKILL');
      } catch {}
    }
  };
  let timer = setTimeout(kill, longestMillis);
  const ends = jobs.map((job) => {
    job.stdout?.setEncoding('utf8').on('data', (text: string) => {
      if (!text.includes('fault ')) return;
      clearTimeout(timer);
      timer = setTimeout(kill, waitMillis);
    });
    return new Promise((resolve) => job.once('exit', resolve));
  });
  await Promise.all(ends);
  clearTimeout(timer);
  // What a launcher has left.
  kill();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as { readonly port: number };
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}
