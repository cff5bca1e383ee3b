// Workers under launchers of this machine. Those that are not installed are skipped by name. COLL_SLURM names a tool that runs a Slurm of one
// node: `up N` starts it with room for N tasks, `conf` prints the path of its slurm.conf, `down` ends it.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/launched.js', import.meta.url));
const slurmTool = process.env['COLL_SLURM'];

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version']).error === undefined;
}

let slurmConf: string | undefined;
const openMpi = ['--allow-run-as-root', '--oversubscribe'];
const launchers: readonly (readonly [string, string, readonly string[], string, boolean])[] = [
  ['mpirun of MPICH', 'mpirun.mpich', [], 'MPICH', isInstalled('mpirun.mpich')],
  ['mpirun of Open MPI', 'mpirun.openmpi', openMpi, 'Open MPI', isInstalled('mpirun.openmpi')],
  ['srun --mpi=pmi2', 'srun', ['--mpi=pmi2'], 'Slurm', slurmTool !== undefined],
  ['srun --mpi=pmix', 'srun', ['--mpi=pmix'], 'Slurm', slurmTool !== undefined],
];

beforeAll(() => {
  if (slurmTool === undefined) return;
  execFileSync(slurmTool, ['up', '4'], { stdio: 'ignore' });
  slurmConf = execFileSync(slurmTool, ['conf'], { encoding: 'utf8' }).trim();
}, 60_000);

afterAll(() => {
  if (slurmTool !== undefined) execFileSync(slurmTool, ['down'], { stdio: 'ignore' });
});

async function run(command: string, args: readonly string[], scenario: string) {
  const { PATH, HOME } = process.env;
  const child = spawn(command, [...args, '-n', '2', process.execPath, program, scenario], {
    env: { PATH, HOME, ...(slurmConf && { SLURM_CONF: slurmConf }) },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { code, printed: stdout.trim().split('\n').sort(), stderr };
}

describe.each(launchers)('under %s', (_, command, args, launcher, isHere) => {
  it.skipIf(!isHere)('two workers meet without any setting', async () => {
    const line = JSON.stringify({ launcher, sum: [2, 4] });
    expect(await run(command, args, 'strategy')).toMatchObject({ code: 0, printed: [line, line] });
  });

  it.skipIf(!isHere)('two members of a group that close nothing end well', async () => {
    expect(await run(command, args, 'unclosed')).toMatchObject({ code: 0, printed: ['[2]', '[2]'] });
  });

  it.skipIf(!isHere)('the run fails if the members fail', async () => {
    expect((await run(command, args, 'fails')).code).not.toBe(0);
  });
});
