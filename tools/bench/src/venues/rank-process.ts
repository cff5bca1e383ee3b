import type { Communicator, ProcessGroup } from '@coll/core';
import { openProcessGroup } from '@coll/processes';
import { subStore, TcpStore } from '@coll/rendezvous';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';
import { algorithms } from '../algorithms.js';
import { answerOrders } from '../ask.js';
import { type Effort, type Measurement, measure } from '../measurement.js';
import type { Transport } from '../peers/peers.js';
import { remembered } from '../remembered.js';
import { Buffers } from '../subjects/buffers.js';
import { collectiveSubject } from '../subjects/collective-subject.js';
import { contextSubject } from '../subjects/context-subject.js';
import type { CallMemory, Trial } from '../trial.js';
import { executedBy, type Order } from './venue.js';

/** The process of a rank, which measures what it is ordered to. */

export interface ProcessStart {
  readonly rank: number;
  readonly ranks: number;
  readonly address: string;
  readonly job: string;
  readonly jobKey: string;
}

const { rank, ranks, ...member } = JSON.parse(process.argv[2] as string) as ProcessStart;

const groups = new Map<Transport, Promise<ProcessGroup>>();
const strategies = new Map<Transport, Promise<MultiWorkerMirroredStrategy>>();
const communicators = new Map<string, Promise<{ communicator: Communicator; buffers: Buffers }>>();

answerOrders(async ({ trial, effort }: Order) => {
  if (trial.work.type === 'context') return await measureReplica(trial, trial.work.memory, effort);
  const { communicator, buffers } = await communicatorOf(trial);
  return await measure(collectiveSubject(communicator, buffers, trial), trial, effort);
});
process.once('disconnect', () => process.exit());

/** Measures the only replica of this process, in a strategy of all processes. */
async function measureReplica(trial: Trial, memory: CallMemory, effort: Effort): Promise<Measurement> {
  const strategy = await strategyOver(trial.transport ?? 'shared-memory');
  const measured: Measurement[] = [];
  await strategy.run(async (context) => {
    measured.push(await measure(contextSubject(context, trial, memory), trial, effort));
  });
  return measured[0] as Measurement;
}

function strategyOver(transport: Transport): Promise<MultiWorkerMirroredStrategy> {
  return remembered(strategies, transport, async () => {
    return new MultiWorkerMirroredStrategy({ group: await open(transport, 'strategy') });
  });
}

function communicatorOf(trial: Trial) {
  const { transport = 'shared-memory', memory = 'ordinary' } = trial;
  const [, algorithm] = executedBy(trial);
  return remembered(communicators, `${transport} ${algorithm} ${memory}`, async () => {
    const group = await remembered(groups, transport, () => open(transport, 'communicators'));
    const communicator = group.communicator(algorithms[algorithm]);
    return { communicator, buffers: new Buffers(communicator, memory) };
  });
}

// Communicators and strategies have separate groups, because each counts its calls.
async function open(transport: Transport, purpose: 'communicators' | 'strategy'): Promise<ProcessGroup> {
  await using store = await TcpStore.connect(member);
  const { job, jobKey } = member;
  const groupStore = subStore(store, `${transport} ${purpose}`);
  return await openProcessGroup({
    ...{ store: groupStore, rank, size: ranks, job, jobKey },
    ...(transport === 'encrypted-tcp' ? { transport: 'tcp', encrypt: 'always' } : { transport }),
  });
}
