import { fork } from 'node:child_process';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import { type Facts, type Findings, inWords, type ReportedError } from './step.js';

const [job, jobKey] = ['gpu-check', 'tests-only-4kQz9XvB7mLwR2'];

/** Settings with which NCCL treats two processes on one GPU as two hosts, connected by loopback sockets. */
export const asTwoHosts = {
  NCCL_SOCKET_IFNAME: 'lo',
  NCCL_IB_DISABLE: '1',
  NCCL_RAS_ENABLE: '0',
  NCCL_NVLS_ENABLE: '0',
  NCCL_MNNVL_ENABLE: '0',
  NCCL_MAX_CTAS: '2',
  CUDA_MODULE_LOADING: 'EAGER',
  CUDA_DEVICE_MAX_CONNECTIONS: '32',
};

/** The environment that `coll run` sets for a process, for strategies. */
const asLaunched = (rank: number, store: string) => ({
  COLL_RANK: String(rank),
  COLL_SIZE: '2',
  COLL_STORE: store,
  COLL_JOB: job,
  COLL_JOB_KEY: jobKey,
});

/** How one of two processes ended: its facts, or its error in words; neither if it was killed. */
export interface Ended {
  readonly facts?: Facts;
  readonly error?: ReportedError;
  /** The seconds after its last message, and its exit code unless it was killed. */
  readonly exit?: { readonly seconds: number; readonly code: number | null };
}

/** Runs a step as two ranks in separate processes. `hosts`: their host names for NCCL. */
export async function twoProcesses(
  step: string,
  hosts: readonly [string, string] = ['coll-0', 'coll-1'],
): Promise<readonly [Ended, Ended]> {
  await using server = await TcpStoreServer.listen({ job, jobKey });
  const children = hosts.map((host, rank) =>
    processOf(step, rank, server.address, {
      ...process.env,
      ...asTwoHosts,
      NCCL_HOSTID: host,
      ...asLaunched(rank, server.address),
    }),
  );
  return (await Promise.all(children)) as [Ended, Ended];
}

/** Runs a rank of a step in its own process. */
export function processOf(step: string, rank: number, store: string, env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = fork(process.argv[1] as string, ['rank', step, String(rank), store], { env });
  return new Promise((resolve) => {
    let last: Ended = {};
    let at = performance.now();
    child.on('message', (message) => {
      last = message as Ended;
      at = performance.now();
    });
    child.on('close', (code) => resolve({ ...last, exit: { seconds: (performance.now() - at) / 1000, code } }));
  });
}

/** The store through which the two ranks find each other. */
export function storeAt(address: string): Promise<TcpStore> {
  return TcpStore.connect({ address, job, jobKey });
}

/** The facts of both ranks. @throws Error if one failed */
export function bothFacts([first, second]: readonly [Ended, Ended]): Findings {
  return { facts: { rank0: factsOf('rank 0', first), rank1: factsOf('rank 1', second) } };
}

/** @throws Error if the process failed */
export function factsOf(who: string, { facts, error }: Ended): Facts {
  if (facts) return facts;
  throw new Error(`${who}: ${error ? inWords(error) : 'gone'}`);
}
