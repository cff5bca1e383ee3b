// The launchers of MPI on this machine. COLL_SLURM names a tool that runs a Slurm of one node: `up N` starts it with room for N tasks, `conf`
// prints the path of its slurm.conf, `down` ends it. COLL_NETLAB names a tool that makes hosts on this machine: `up N` makes h0, h1, … with
// networks of their own, `exec hK COMMAND` runs a command on one, `down` removes them; beside it is `netlab-rsh`, a remote shell for them.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll } from 'vitest';

/** A way to start the ranks of an MPI job. */
export interface Launcher {
  readonly name: string;
  /** Why it cannot be used here; undefined if it can. */
  readonly missing: string | undefined;
  /** The command that starts `size` ranks; the program of each rank follows. */
  readonly command: (size: number) => readonly string[];
  /** Variables of the launcher's process. */
  readonly env?: () => Readonly<Record<string, string>>;
}

const slurmTool = process.env['COLL_SLURM'];
const netlab = process.env['COLL_NETLAB'];

function missingCommand(command: string): string | undefined {
  return spawnSync(command, ['--version'], { stdio: 'ignore' }).error && `${command} is not installed`;
}
const missingTool = (tool: string | undefined, variable: string) => (tool ? undefined : `${variable} names no tool`);

// By default Open MPI refuses more ranks than cores, lets them spin, and refuses to run as root, as containers do.
const openMpiOptions = [
  ...['--allow-run-as-root', '--oversubscribe'],
  // Containers may not read the memory of other processes.
  ...['--mca', 'btl_vader_single_copy_mechanism', 'none'],
];

/** `mpirun` of Open MPI and of MPICH. */
export const mpiruns: readonly Launcher[] = [
  {
    name: 'mpirun of Open MPI',
    missing: missingCommand('mpirun.openmpi'),
    command: (size) => ['mpirun.openmpi', ...openMpiOptions, '-n', `${size}`],
  },
  {
    name: 'mpirun of MPICH',
    missing: missingCommand('mpirun.mpich'),
    command: (size) => ['mpirun.mpich', '-n', `${size}`],
  },
];

let slurmConf = '';
const slurm = (type: string, library: string): Launcher => ({
  name: `srun --mpi=${type}, ${library}`,
  missing: missingTool(slurmTool, 'COLL_SLURM'),
  command: (size) => ['srun', `--mpi=${type}`, '--overcommit', '-n', `${size}`],
  env: () => ({ SLURM_CONF: slurmConf }),
});

/** `srun` of a Slurm of one node, which `useSlurm` starts. */
export const sruns: readonly Launcher[] = [slurm('pmix', 'Open MPI'), slurm('pmi2', 'MPICH')];

/** Runs Slurm during the tests of a file. */
export function useSlurm(): void {
  beforeAll(() => {
    if (slurmTool === undefined) return;
    execFileSync(slurmTool, ['up', '8'], { stdio: 'ignore' });
    slurmConf = execFileSync(slurmTool, ['conf'], { encoding: 'utf8' }).trim();
  }, 60_000);
  afterAll(() => {
    if (slurmTool !== undefined) execFileSync(slurmTool, ['down'], { stdio: 'ignore' });
  });
}

const remoteShell = path.join(path.dirname(netlab ?? ''), 'netlab-rsh');
const overEthernet = ['pml ob1', 'btl tcp,self', 'btl_tcp_if_include eth0', 'oob_tcp_if_include eth0'];

/** `mpirun` across hosts, one rank per host or several. */
export function acrossHosts(hosts: number): readonly Launcher[] {
  const missing = missingTool(netlab, 'COLL_NETLAB');
  const names = (size: number, text: (host: number, ranks: number) => string) =>
    Array.from({ length: hosts }, (_, host) => text(host, size / hosts)).join();
  return [
    {
      name: `mpirun of Open MPI across ${hosts} hosts`,
      missing: missing ?? missingCommand('mpirun.openmpi'),
      command: (size) => [
        ...[netlab as string, 'exec', 'h0', 'mpirun.openmpi', ...openMpiOptions, '--mca', 'plm_rsh_agent', remoteShell],
        ...overEthernet.flatMap((setting) => ['--mca', ...setting.split(' ')]),
        ...['--mca', 'mpi_yield_when_idle', '1'],
        ...['--host', names(size, (host, ranks) => `h${host}:${ranks}`), '-n', `${size}`],
      ],
    },
    {
      name: `mpirun of MPICH across ${hosts} hosts`,
      missing: missing ?? missingCommand('mpirun.mpich'),
      command: (size) => [
        ...[netlab as string, 'exec', 'h0', 'mpirun.mpich', '-launcher', 'rsh', '-launcher-exec', remoteShell],
        ...['-genv', 'UCX_TLS', 'tcp,self', '-genv', 'UCX_NET_DEVICES', 'eth0'],
        ...['-hosts', names(size, (host, ranks) => `h${host}:${ranks}`), '-n', `${size}`],
      ],
    },
  ];
}

/** Makes hosts during the tests of a file. */
export function useHosts(hosts: number): void {
  beforeAll(() => {
    if (netlab !== undefined) execFileSync(netlab, ['up', `${hosts}`], { stdio: 'ignore' });
  }, 60_000);
  afterAll(() => {
    if (netlab !== undefined) execFileSync(netlab, ['down'], { stdio: 'ignore' });
  });
}

const double = path.resolve(import.meta.dirname, '../build/release/libcoll-double-mpi.so');
const startRanks = `
const { spawn } = require('node:child_process');
const [size, program, ...args] = process.argv.slice(1);
for (let rank = 0; rank < Number(size); rank++) {
  const env = { ...process.env, PMI_RANK: String(rank), PMI_SIZE: size };
  spawn(program, args, { env, stdio: ['ignore', 'inherit', 'inherit'] }).once('exit', (code) => {
    if (code !== 0) process.exitCode = code ?? 1;
  });
}`;

/** A double of an MPI library with the binary interface of MPI 5.0, and of its launcher. */
export const standardAbi: Launcher = {
  name: 'a double of MPI 5.0',
  missing: undefined,
  command: (size) => [process.execPath, '-e', startRanks, '--', `${size}`],
  env: () => ({ COLL_MPI_LIB: double, COLL_DOUBLE_FOLDER: mkdtempSync(path.join(tmpdir(), 'coll-double-mpi-')) }),
};

/** Starts ranks, without the variables of this process that launchers and MPI libraries read. */
export function launch(
  { command, env }: Launcher,
  size: number,
  program: readonly string[],
  more: Readonly<Record<string, string>> = {},
): ChildProcess {
  const { PATH, HOME, TMPDIR } = process.env;
  const [launcher, ...args] = [...command(size), ...program] as [string, ...string[]];
  return spawn(launcher, args, {
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env?.(), ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Variables of a job whose strategies connect their workers by MPI. */
export const registered = { NODE_OPTIONS: `--import ${new URL('../src/register.ts', import.meta.url).href}` };

/** How a job has ended. */
export interface EndedJob {
  /** The exit code of the launcher. */
  readonly code: number;
  /** The lines that its ranks have printed, in any order. */
  readonly lines: readonly string[];
  readonly errors: string;
}

// UCX would print among the lines of a program what a group that has failed left in it.
const quiet = { UCX_LOG_LEVEL: 'error' };

/** Runs a program of Node.js as the ranks of a job, until the job has ended. */
export async function run(
  launcher: Launcher,
  size: number,
  program: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<EndedJob> {
  const child = launch(launcher, size, [process.execPath, ...program], { ...quiet, ...env });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
    once(child, 'close'),
  ]);
  return { code: code as number, lines: output.trimEnd().split(/\r?\n/), errors };
}
