import type { Communicator, ProcessGroup } from '@coll/core';
import { openProcessGroup } from '@coll/processes';
import { subStore, TcpStore } from '@coll/rendezvous';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';
import { algorithms } from '../algorithms.js';
import { type Effort, type Measurement, measure } from '../measurement.js';
import type { Transport } from '../peers/peers.js';
import { Buffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import { contextSubject } from '../subjects/context-subject.js';
import type { CallMemory, Trial } from '../trial.js';
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
const strategies = new Map<Transport, MultiWorkerMirroredStrategy>();
const communicators = new Map<string, { communicator: Communicator; buffers: Buffers }>();

process.on('message', (order: Order) => void answer(order));
process.once('disconnect', () => process.exit());

async function answer({ trial, effort }: Order): Promise<void> {
  try {
    if (trial.work.type === 'context') say(await measureReplica(trial, trial.work.memory, effort));
    else {
      const { communicator, buffers } = await communicatorOf(trial);
      say(await measure(collectiveSubject(communicator, buffers, trial), trial, effort));
    }
  } catch (error) {
    say({ error });
  }
}

function say(message: FromProcess): void {
  process.send?.(message);
}

/** The only replica of this process, in a strategy of all processes. */
async function measureReplica(trial: Trial, memory: CallMemory, effort: Effort): Promise<Measurement> {
  const strategy = await strategyOver(trial.transport ?? 'shared-memory');
  const measured: Measurement[] = [];
  await strategy.run(async (context) => {
    measured.push(await measure(contextSubject(context, trial, memory), trial, effort));
  });
  return measured[0] as Measurement;
}

async function strategyOver(transport: Transport): Promise<MultiWorkerMirroredStrategy> {
  const known = strategies.get(transport);
  if (known) return known;
  const made = new MultiWorkerMirroredStrategy({ group: await open(transport, 'strategy') });
  strategies.set(transport, made);
  return made;
}

async function communicatorOf(trial: Trial) {
  const { transport = 'shared-memory', memory = 'ordinary' } = trial;
  const [, algorithm] = playedBy(trial);
  const key = `${transport} ${algorithm} ${memory}`;
  const known = communicators.get(key);
  if (known) return known;
  const opened = groups.get(transport) ?? open(transport, 'communicators');
  groups.set(transport, opened);
  const communicator = (await opened).communicator(algorithms[algorithm]);
  const made = { communicator, buffers: new Buffers(communicator, memory) };
  communicators.set(key, made);
  return made;
}

// Communicators and strategies meet in groups of their own, because each counts its calls.
async function open(transport: Transport, purpose: 'communicators' | 'strategy'): Promise<ProcessGroup> {
  await using store = await TcpStore.connect(member);
  const { job, jobKey } = member;
  const meeting = subStore(store, `${transport} ${purpose}`);
  return await openProcessGroup({ store: meeting, rank, size: ranks, job, jobKey, transport });
}
