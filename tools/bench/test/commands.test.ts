import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { commandsOf } from '../src/peers/commands.js';

const fitting = Math.min(2, availableParallelism());
const crowded = availableParallelism() + 1;
const lineOf = (...args: Parameters<typeof commandsOf>) => commandsOf(...args).map(({ argv }) => argv.join(' '));

it('the MPI command binds ranks to cores if there are enough, and allows Open MPI to oversubscribe otherwise', () => {
  expect(lineOf('openmpi', fitting, ['p'])).toEqual([`mpirun.openmpi -np ${fitting} --bind-to core p`]);
  expect(lineOf('mpich', fitting, ['p'])).toEqual([`mpirun.mpich -np ${fitting} -bind-to core p`]);
  expect(lineOf('openmpi', crowded, ['p'])).toEqual([`mpirun.openmpi -np ${crowded} --oversubscribe --bind-to none p`]);
  expect(lineOf('mpich', crowded, ['p'])).toEqual([`mpirun.mpich -np ${crowded} p`]);
});

it('the command of mpi4py is that of Open MPI', () => {
  expect(lineOf('mpi4py', fitting, ['p', 's.py'])).toEqual(lineOf('openmpi', fitting, ['p', 's.py']));
});

it('the command of a tuned peer library differs only in the settings of malloc', () => {
  for (const [plain, tuned] of [
    ['openmpi', 'openmpi-tuned'],
    ['mpich', 'mpich-tuned'],
  ] as const) {
    const [before, after] = [lineOf(plain, fitting, ['p']), lineOf(tuned, fitting, ['p'])].map(
      ([line]) => line as string,
    );
    expect(after).toContain('GLIBC_TUNABLES');
    expect((after as string).replace(/ -x \S+| -genv \S+ \S+/, '')).toBe(before);
  }
});

it('the command of a non-blocking peer library differs only in the back-off of its tests', () => {
  for (const peer of ['openmpi', 'mpich'] as const) {
    const [blocking, nonblocking] = [peer, `${peer}-nonblocking` as const].map(
      (name) => lineOf(name, crowded, ['p'])[0],
    );
    expect(nonblocking?.replace(/ (-x BENCH_BACKOFF=|-genv BENCH_BACKOFF )[\d,]+/, '')).toBe(blocking);
    expect(nonblocking).not.toBe(blocking);
  }
});

it('the MPI command disables shared memory if TCP is requested', () => {
  expect(lineOf('openmpi-tcp', fitting, ['p'])).toEqual([
    `mpirun.openmpi -np ${fitting} --bind-to core --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include lo p`,
  ]);
  expect(lineOf('mpich-tcp', fitting, ['p'])).toEqual([
    `mpirun.mpich -np ${fitting} -bind-to core -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES lo p`,
  ]);
});

it.each(['gloo', 'torch'] as const)('the command of %s runs once per rank, with a common rendezvous folder', (peer) => {
  const commands = commandsOf(peer, 3, ['p', '1']);
  try {
    expect(commands.map(({ argv, env }) => [argv, env?.['BENCH_RANK'], env?.['BENCH_RANKS']])).toEqual(
      ['0', '1', '2'].map((rank) => [['p', '1'], rank, '3']),
    );
    expect(new Set(commands.map(({ scratch }) => scratch)).size).toBe(1);
  } finally {
    rmSync(commands[0]?.scratch as string, { recursive: true });
  }
});

it('the command for the memory-bandwidth bound runs once, with one thread per rank', () => {
  expect(commandsOf('bound', 4, ['p'])).toEqual([{ argv: ['p'], env: { BENCH_RANKS: '4' } }]);
});
