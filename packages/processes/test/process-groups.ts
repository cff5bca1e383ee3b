import { TcpStoreServer } from '@coll/rendezvous';
import { type ProcessRanks, type ProcessRanksOptions, processRanks } from '@coll/testing';
import type { JoinOptions } from './join.ts';

const join = new URL('./join.ts', import.meta.url).href;

/** How the groups of a suite are made up. */
export interface ProcessGroupsOptions extends Omit<ProcessRanksOptions, 'join'> {
  readonly transport: JoinOptions['transport'];
  readonly encrypt?: JoinOptions['encrypt'];
  readonly isChecksummed?: JoinOptions['isChecksummed'];
  /** Which function of `join.ts` makes a member. Default: that of one rank a member. */
  readonly by?: 'join' | 'joinTwoLevels';
}

/** Groups of processes of this package, which meet in a store of their own. */
export async function processGroups({
  transport,
  encrypt,
  isChecksummed,
  by = 'join',
  ...options
}: ProcessGroupsOptions): Promise<ProcessRanks> {
  const member = { job: 'executor suite', jobKey: TcpStoreServer.newKey() };
  const server = await TcpStoreServer.listen(member);
  const joinOptions: JoinOptions = { ...member, address: server.address, transport, encrypt, isChecksummed };
  const ranks = processRanks({ ...options, join: { module: join, export: by, options: joinOptions } });
  const close = async () => {
    await ranks.close();
    await server.close();
  };
  return { open: ranks.open, close, [Symbol.asyncDispose]: close };
}
