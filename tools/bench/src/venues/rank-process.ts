import type { Communicator, ProcessGroup } from '@coll/core';
import { openProcessGroup } from '@coll/processes';
import { subStore, TcpStore } from '@coll/rendezvous';
import { algorithms } from '../algorithms.js';
import { type Measurement, measure } from '../measurement.js';
import type { Transport } from '../peers/peers.js';
import { Buffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import type { Trial } from '../trial.js';
import { type Order, playedBy } from './venue.js';

/** The entry of a rank's process: measures what it is told to. */

export interface ProcessStart {
  readonly rank: number;
  readonly ranks: number;
  readonly address: string;
  readonly job: string;
  readonly jobKey: string;
}

export type FromProcess = Measurement | { readonly error: unknown };

const { rank, ranks, ...member } = JSON.parse(process.argv[2] as string) as ProcessStart;

const groups = new Map<Transport, Promise<ProcessGroup>>();
const communicators = new Map<string, { communicator: Communicator; buffers: Buffers }>();

process.on('message', (order: Order) => void answer(order));
process.once('disconnect', () => process.exit());

async function answer({ trial, effort }: Order): Promise<void> {
  try {
    const { communicator, buffers } = await communicatorOf(trial);
    say(await measure(collectiveSubject(communicator, buffers, trial), trial, effort));
  } catch (error) {
    say({ error });
  }
}

function say(message: FromProcess): void {
  process.send?.(message);
}

async function communicatorOf(trial: Trial) {
  const { transport = 'shared-memory', memory = 'ordinary' } = trial;
  const [, algorithm] = playedBy(trial);
  const key = `${transport} ${algorithm} ${memory}`;
  const known = communicators.get(key);
  if (known) return known;
  const opened = groups.get(transport) ?? open(transport);
  groups.set(transport, opened);
  const communicator = (await opened).communicator(algorithms[algorithm]);
  const made = { communicator, buffers: new Buffers(communicator, memory) };
  communicators.set(key, made);
  return made;
}

async function open(transport: Transport): Promise<ProcessGroup> {
  await using store = await TcpStore.connect(member);
  const { job, jobKey } = member;
  // One group of each, at the same time.
  return await openProcessGroup({ store: subStore(store, transport), rank, size: ranks, job, jobKey, transport });
}
