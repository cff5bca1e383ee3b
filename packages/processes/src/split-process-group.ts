import { hkdfSync } from 'node:crypto';
import { type Communicator, type RunOptions, type SubGroup, tensor, zeros } from '@coll/core';
import { communicatorFor, groupOfRank } from '@coll/core/internal';
import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
import type { MemberConfig } from './member-config.js';
import type { OpenedProcessGroup } from './opened-process-group.js';
import type { OpenProcessGroupOptions } from './options.js';
import type { ProcessRankOptions } from './process-rank.js';
import { SplitWatch } from './split-watch.js';
import { stallListener, watchOperation } from './stalls.js';

type Open = (
  options: OpenProcessGroupOptions,
  part: Pick<MemberConfig, 'whole' | 'parent'>,
) => Promise<OpenedProcessGroup>;

/**
 * Splits a member's group: the members of each color open a new group with the same options. The
 * first member of the new group hosts the store until the group is open. If the old group fails
 * meanwhile, all members throw its failure.
 */
export function splitOf(config: MemberConfig, open: Open): ProcessRankOptions['split'] {
  let splits = 0;
  return async (rank, parts, algorithm, options) => {
    const number = splits++;
    const ranks = groupOfRank(parts, config.rank);
    const job = `${config.job}/split ${number} color ${parts[config.rank]?.color}`;
    const jobKey = Buffer.from(hkdfSync('sha256', config.key, 'coll', job, 32)).toString('base64url');
    const isFirst = ranks?.[0] === config.rank;
    const server = isFirst ? await TcpStoreServer.listen({ job, jobKey, host: rank.hostOf(config.rank) }) : undefined;
    let endWatch = () => {};
    try {
      const ports = await exchangePorts(rank.communicator(algorithm), server, options);
      if (!ranks) return [undefined];
      const first = ranks[0] as number;
      const place = { rank: ranks.indexOf(config.rank), size: ranks.length };
      const wholeRanks = ranks.map((other) => config.whole?.[other] ?? other);
      endWatch = watchOperation(stallListener({ ...place, whole: wholeRanks }), 'split');
      const address = addressOf(rank.hostOf(first), ports[first] as number);
      const watch = new SplitWatch(rank.group, ranks, options);
      const group = await watch.during(async () => {
        await using store = await TcpStore.connect({ address, job, jobKey, ...watch.limits });
        const { generation, encrypt, insecure, transport, streams, heartbeatSeconds, maxBytes, checkResults } = config;
        const links = { encrypt, insecure, transport, streams };
        const same = { ...links, generation, heartbeatSeconds, maxBytes, checkResults, algorithm };
        const part = { whole: wholeRanks, parent: rank.recorded.identity.id };
        return await open({ ...same, ...place, host: config.host, store, job, jobKey, ...watch.limits }, part);
      });
      return [{ communicator: communicatorFor(group, algorithm), close: () => group.close() } satisfies SubGroup];
    } finally {
      endWatch();
      await server?.close();
    }
  };
}

/**
 * Sends the port of this member's server to all members, and returns the ports of all; the port of
 * a member without a server is 0.
 */
async function exchangePorts(
  communicator: Communicator,
  server: TcpStoreServer | undefined,
  options: RunOptions,
): Promise<Int32Array> {
  const port = server ? Number(new URL(server.address).port) : 0;
  const ports = zeros('int32', [communicator.size]);
  await communicator.run({ kind: 'all-gather' }, [tensor(Int32Array.of(port))], [ports], options);
  return ports.data as Int32Array;
}

function addressOf(host: string, port: number): string {
  return `tcp://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
