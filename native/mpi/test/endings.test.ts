import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Launcher, mpiruns, run } from './launchers.ts';

const program = fileURLToPath(new URL('./fixtures/ending.ts', import.meta.url));

/** What a rank has printed. */
interface Report {
  readonly rank: number;
  readonly code?: string;
  readonly culprit?: number;
  readonly message?: string;
  readonly sum?: number;
}

interface Ending {
  /** The exit code of the launcher. */
  readonly code: number;
  readonly reports: readonly Report[];
  readonly errors: string;
}

async function endingOf(
  launcher: Launcher,
  how: string,
  ranks = 3,
  env: Readonly<Record<string, string>> = {},
): Promise<Ending> {
  const folder = mkdtempSync(path.join(tmpdir(), 'coll-mpi-ending-'));
  const { code, lines, errors } = await run(launcher, ranks, [program, how, folder], env);
  rmSync(folder, { recursive: true });
  const reports = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Report);
  return { code, reports, errors };
}

/** The errors of the ranks that printed one; a launcher may have killed others before that. */
const errorsIn = ({ reports }: Ending) => [...new Set(reports.map(({ code, culprit }) => `${code} ${culprit}`))];

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
  const test = it.skipIf(launcher.missing !== undefined);

  test('an exception of a rank ends the job with code 1, and its message is printed', async () => {
    const ending = await endingOf(launcher, 'exception');
    expect(ending.code, ending.errors).toBe(1);
    expect(ending.errors).toContain('out of ink');
  });

  test('the exit code of a rank ends the job with this code', async () => {
    const ending = await endingOf(launcher, 'exit code');
    expect(ending.code, ending.errors).toBe(7);
  });

  test('ranks that wait for a rank that has left get an error that names it', async () => {
    const ending = await endingOf(launcher, 'leaves early');
    expect(ending.code, ending.errors).toBe(3);
    expect(errorsIn(ending)).toContain('ERR_COLL_CLOSED 2');
  });

  test('rank 0 logs a line when the group opens and one at its end, also if the program does not close it', async () => {
    const { code, errors } = await endingOf(launcher, 'nothing', 3, { COLL_LOG: 'info', COLL_LOG_FORMAT: 'json' });
    expect(code, errors).toBe(0);
    const parsed = errors.split(/\r?\n/).flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
    const lines = parsed.filter(({ event }) => event?.startsWith('group'));
    expect(lines).toMatchObject([
      { level: 'info', event: 'group opened', rank: 0, data: { kind: 'MPI processes', members: 3 } },
      { level: 'info', event: 'group closed', rank: 0, data: { members: 3, collectives: 1, bytesPerMember: 4 } },
    ]);
  });

  test('a killed rank ends the job', async () => {
    const ending = await endingOf(launcher, 'killed');
    expect(ending.code, ending.errors).not.toBe(0);
  });

  test('ranks that wait for a stopped rank time out, name it, and end the job', async () => {
    const ending = await endingOf(launcher, 'silent');
    expect(ending.code, ending.errors).toBe(3);
    const [first] = ending.reports;
    expect(first).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
    // On a busy machine, the other rank may be late, too.
    expect(first?.message).toMatch(/rank (?:[01], )?2 did not arrive at all-reduce sum/);
  });

  test('a late rank causes deadline errors only', async () => {
    const ending = await endingOf(launcher, 'late');
    expect(ending.code, ending.errors).toBe(3);
    expect(ending.reports.every(({ code }) => code === 'ERR_COLL_DEADLINE')).toBe(true);
    expect(ending.reports.length).toBeGreaterThan(0);
  });

  test.each(['mismatch', 'checked'])('calls of other lengths fail on all ranks, %s', async (how) => {
    const ending = await endingOf(launcher, how);
    expect(ending.code, ending.errors).toBe(3);
    expect(errorsIn(ending)).toEqual(['ERR_COLL_SHAPE_MISMATCH 2']);
  });

  test('a call of the library itself never meets a known call of a program', async () => {
    const ending = await endingOf(launcher, 'internal meeting');
    expect(ending.code, ending.errors).toBe(3);
    expect(ending.reports.length).toBeGreaterThan(0);
    expect(ending.reports.every(({ code }) => code === 'ERR_COLL_DEADLINE')).toBe(true);
  });

  test('an access of WebAssembly out of bounds is an exception after the start of MPI', async () => {
    const ending = await endingOf(launcher, 'memory trap');
    expect(ending, ending.errors).toMatchObject({
      code: 0,
      reports: [{ rank: 0, message: 'memory access out of bounds' }],
    });
  });

  test('a communicator blocks its thread for a synchronous call, and the job ends with code 0', async () => {
    const ending = await endingOf(launcher, 'blocked thread');
    expect(ending, ending.errors).toMatchObject({ code: 0, reports: [{ rank: 0, sum: 3 }] });
  });

  const other = mpiruns.find(({ name }) => name !== launcher.name);
  const foreign = launcher.name.includes('Open MPI') ? 'libmpich.so.12' : 'libmpi.so.40';
  it.skipIf(launcher.missing !== undefined || other?.missing !== undefined)(
    'the library of the other MPI is refused, with advice',
    async () => {
      const ending = await endingOf(launcher, 'blocked thread', 2, { COLL_MPI_LIB: foreign });
      expect(ending.code, ending.errors).not.toBe(0);
      const [first] = ending.reports;
      expect(first).toMatchObject({ code: 'ERR_COLL_CLUSTER' });
      expect(first?.message).toMatch(/started 2 processes, but .* sees 1: .*start the program with the mpirun of/);
    },
  );

  test('a library that is not there is refused, with its name', async () => {
    const ending = await endingOf(launcher, 'blocked thread', 1, { COLL_MPI_LIB: '/nowhere/libmpi.so' });
    expect(ending.reports[0]).toMatchObject({ code: 'ERR_COLL_REFUSED' });
    expect(ending.reports[0]?.message).toContain('/nowhere/libmpi.so');
  });
});
