import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@coll/strategy';

/** How a worker has ended, and what it printed as JSON. */
export interface Launched {
  readonly code: number | null;
  readonly told: unknown;
  readonly stderr: string;
}

const names = fileURLToPath(new URL('./fixtures/name-service-double.mjs', import.meta.url));
const program = fileURLToPath(new URL('./fixtures/launched.js', import.meta.url));

/**
 * Starts a worker with the variables of each member, and no others of ours or of a launcher. Names of hosts stand for `address`.
 */
export function launchWorkers(
  members: readonly Environment[],
  address: string,
  scenario = 'strategy',
): Promise<Launched[]> {
  return Promise.all(
    members.map(async (variables): Promise<Launched> => {
      const { PATH, HOME } = process.env;
      const child = spawn(process.execPath, ['--import', names, program, scenario], {
        env: { PATH, HOME, COLL_TEST_ADDRESS: address, ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 120_000,
        killSignal: 'SIGKILL',
      });
      const [stdout, stderr, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'close'),
      ]);
      return { code, told: stdout === '' ? undefined : JSON.parse(stdout), stderr };
    }),
  );
}
