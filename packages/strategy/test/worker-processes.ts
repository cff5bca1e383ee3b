import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { freePort } from '../../rendezvous/test/free-port.ts';

/** How a worker has ended, and what it printed. */
export interface EndOfWorker {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a fixture as the workers of a cluster, in a process each, which get its name and their arguments. Only those of `present` are started, by
 * default all.
 */
export async function runWorkers(
  fixture: string,
  workers: number,
  args: readonly string[],
  present: readonly number[] = Array.from({ length: workers }, (_, worker) => worker),
  variables: NodeJS.ProcessEnv = {},
): Promise<EndOfWorker[]> {
  const ports = await Promise.all(Array.from({ length: workers }, freePort));
  const cluster = { worker: ports.map((port) => `127.0.0.1:${port}`) };
  const jobKey = TcpStoreServer.newKey();
  return Promise.all(
    present.map(async (index) => {
      const program = fileURLToPath(new URL(`./fixtures/${fixture}`, import.meta.url));
      const child = spawn(process.execPath, [program, ...args], {
        env: {
          ...process.env,
          TF_CONFIG: JSON.stringify({ cluster, task: { type: 'worker', index } }),
          COLL_JOB_KEY: jobKey,
          ...variables,
        },
        // One that waits for another one for ever does not outlive the test.
        timeout: 240_000,
        killSignal: 'SIGKILL',
      });
      const output = { stdout: '', stderr: '' };
      for (const name of ['stdout', 'stderr'] as const) {
        child[name].setEncoding('utf8').on('data', (text: string) => {
          output[name] += text;
        });
      }
      const [code] = (await once(child, 'close')) as [number | null];
      return { code, ...output };
    }),
  );
}
