import { openSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { joinThreadGroup, type Member, type ProcessGroup, type ThreadGroup, tensor } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import '@coll/native/register';
import { openMpiGroup } from '@coll/mpi';
import { native } from '@coll/native';
import { openProcessGroup } from '@coll/processes';
import { randomFrom, rounds, type Scenario } from './fault.ts';

// One rank of a job, which prints a line when it is about to do something wrong. FAULT: a scenario as JSON; FIFO: a named pipe into which
// nobody writes.
const scenario = JSON.parse(process.env['FAULT'] ?? '') as Scenario;
const { mode, fault, size, guilty, other, at, seed, heartbeatSeconds, transport, isBlocking } = scenario;

if (mode === 'threads' && isMainThread) {
  const group = native.createGroup({ size });
  for (let rank = 0; rank < size; rank++) new Worker(new URL(import.meta.url), { workerData: { group, rank } });
} else {
  const member = await join();
  for (let round = 0; round < rounds; round++) {
    if (round === at && (member.rank === guilty || (fault === 'send' && member.rank === other))) await err(member);
    await work(member, round);
    if (fault === 'skip' && round + 1 === at && member.rank === guilty) round++;
  }
  await member.close();
}

async function join(): Promise<Member> {
  if (mode === 'mpirun') return openMpiGroup();
  if (mode !== 'threads') return openProcessGroup({ heartbeatSeconds, transport });
  const { group, rank } = workerData as { readonly group: ThreadGroup; readonly rank: number };
  return joinThreadGroup(group, { rank, algorithm: directAlgorithm() });
}

/** One round of calls, which are the same on all ranks and differ between rounds. */
async function work(member: Member, round: number): Promise<void> {
  const random = randomFrom(seed * rounds + round);
  const length = 1 + Math.floor(random() * 5000);
  const kind = round % 3;
  await setTimeout(Math.floor(random() * 4));
  const value = tensor(new Float32Array(length).fill(member.rank));
  if (kind === 0 && isBlocking && 'communicator' in member)
    (member as ProcessGroup)
      .communicator(directAlgorithm())
      .runSync({ kind: 'all-reduce', op: 'sum' }, [value], [value]);
  else if (kind === 0) await member.allReduce('sum', value);
  else if (kind === 1) await member.broadcast(round % size, value);
  else await member.allGather(value);
}

/** Does something wrong, and tells so first. */
async function err(member: Member): Promise<void> {
  console.log(`fault ${Date.now()}`);
  const random = randomFrom(seed + 77);
  switch (fault) {
    case 'kill':
      process.kill(process.pid, 'SIGKILL');
      break;
    case 'stop':
      process.kill(process.pid, 'SIGSTOP');
      break;
    case 'loop':
      while (performance.now() > 0);
      break;
    case 'blocked':
      openSync(process.env['FIFO'] as string, 'r');
      break;
    case 'idle':
      await setTimeout(1e9);
      break;
    case 'wrong':
      await wrong(member, random);
      break;
    case 'exit':
      return process.exit(random() < 0.5 ? 0 : 3);
    case 'throw':
      throw new Error('no more data');
    case 'send': {
      const peer = member.rank === guilty ? other : guilty;
      await member.send(peer, new Float32Array(7));
      await member.receive(peer, new Float32Array(7));
      break;
    }
    default:
      break;
  }
}

async function wrong(member: Member, random: () => number): Promise<void> {
  const calls = [
    () => member.allReduce('max', new Float32Array(11)),
    () => member.allReduce('sum', new Int32Array(5001)),
    () => member.barrier(),
    () => member.allGather(new Float64Array(3)),
  ];
  await calls[Math.floor(random() * calls.length)]?.();
}
