import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { memberSuite } from '@coll/testing';
import { afterAll, describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('./fixtures/member-scenario.js', import.meta.url));

/** Processes that are members of one group after the other, by rank. */
class Members {
  readonly #processes: ChildProcess[] = [];

  /** Runs a scenario in a new group. The result of a process that ends is undefined. */
  async run(scenario: string, size: number, transport: string): Promise<readonly unknown[]> {
    const [job, jobKey] = ['members', TcpStoreServer.newKey()];
    await using server = await TcpStoreServer.listen({ job, jobKey });
    const { address } = server;
    return await Promise.all(
      Array.from({ length: size }, async (_, rank) => {
        this.#processes[rank] ??= fork(program, { serialization: 'advanced' });
        const child = this.#processes[rank];
        child.send({ address, job, jobKey, rank, size, transport, scenario });
        return await resultOf(child);
      }),
    );
  }

  /** Lets the processes end, and waits for their ends. */
  async end(): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child) => {
        if (!child.connected) return;
        child.disconnect();
        await once(child, 'exit');
      }),
    );
  }
}

/** The result of the scenario that a process runs; undefined if the process ends before. */
async function resultOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const { signal } = over;
  try {
    const [message] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => [undefined]),
    ]);
    return (message as { readonly result: unknown } | undefined)?.result;
  } finally {
    over.abort();
  }
}

describe.each(['shared-memory', 'tcp'] as const)('members in processes over %s', (transport) => {
  const members = new Members();
  afterAll(() => members.end());
  memberSuite({
    test: it,
    name: transport,
    sizes: [1, 2, 3],
    run: (scenario, size) => members.run(scenario, size, transport),
  });

  it('report a member that was killed to the receiver of its messages', async () => {
    const killed = new Members();
    expect(await killed.run('a member that is killed', 2, transport)).toEqual([['ERR_COLL_PEER_FAILED', 1], undefined]);
    await killed.end();
  });
});
