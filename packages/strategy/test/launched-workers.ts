import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@coll/strategy';
import type { PmiServerDouble } from '../../rendezvous/test/pmi-server-double.ts';

/** How a worker has ended, and what it printed as JSON. */
export interface Launched {
  readonly code: number | null;
  readonly printed: unknown;
  readonly stderr: string;
}

const names = fileURLToPath(new URL('./fixtures/name-service-double.mjs', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/launched.js', import.meta.url));

/** How workers are started. */
interface Launch {
  /** The address that names of hosts stand for. */
  readonly here: string;
  readonly scenario?: string;
  /** Serves PMI at descriptor 3 of each worker. */
  readonly pmi?: PmiServerDouble;
}

/** Starts a worker with the variables of each member, and no others of ours or of a launcher. */
export function launchWorkers(
  members: readonly Environment[],
  { here, scenario = 'strategy', pmi }: Launch,
): Promise<Launched[]> {
  return Promise.all(
    members.map(async (variables): Promise<Launched> => {
      const { PATH, HOME } = process.env;
      const child = spawn(process.execPath, ['--import', names, program, scenario], {
        env: { PATH, HOME, COLL_TEST_ADDRESS: here, ...(pmi && { PMI_FD: '3' }), ...variables },
        stdio: ['ignore', 'pipe', 'pipe', pmi ? 'pipe' : 'ignore'],
        timeout: 120_000,
        killSignal: 'SIGKILL',
      });
      pmi?.serve(child.stdio[3] as Duplex);
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout as Readable),
        text(child.stderr as Readable),
        once(child, 'close'),
      ]);
      return { code, printed: stdout === '' ? undefined : JSON.parse(stdout), stderr };
    }),
  );
}
