import { connect } from 'node:net';
import { isMainThread, parentPort, type Worker } from 'node:worker_threads';
import { executeCalls } from './execute-calls.js';
import type { Join, Joined, MemberRequest } from './member-info.js';
import { MessageSocket } from './message-socket.js';
import { packOutcomes, unpackCall } from './packed-call.js';
import { buffersOf, encodeError, type Reply } from './rank-messages.js';
import { moduleBeside, needsTypeScript, startThread } from './start-thread.js';
import { loadAlgorithm } from './suite-algorithm.js';

// The entry of a process with ranks, and of the threads in it: joins groups and makes the requested
// calls. A process that a launcher has started gets the path of a socket for its messages.

interface Message {
  readonly ticket: number;
  readonly request: MemberRequest;
  /** The thread of the process that receives the message; undefined for the main thread. */
  readonly thread?: number;
}

const members = new Map<number, Joined>();
const threads = new Map<number, Worker>();
let launched: MessageSocket | undefined;

/** The first message of a process that a launcher has started. */
export interface Introduction {
  readonly pid: number;
}

if (isMainThread) {
  const receive = (message: Message) => {
    if (message.thread === undefined) void answer(message, say);
    else threadOf(message.thread).postMessage(message);
  };
  const address = process.argv[2];
  if (address === undefined) {
    process.on('message', receive);
    process.once('disconnect', () => process.exit());
  } else {
    launched = new MessageSocket(connect(address));
    launched.send({ pid: process.pid } satisfies Introduction);
    launched.listen((message) => receive(message as Message));
    launched.socket.once('close', () => process.exit());
  }
} else {
  parentPort?.on('message', (message: Message) => {
    void answer(message, (reply) => parentPort?.postMessage({ ...reply, thread: message.thread }));
  });
}

function say(reply: Reply): void {
  if (launched) launched.send(reply);
  else process.send?.(reply);
}

function threadOf(index: number): Worker {
  const known = threads.get(index);
  if (known) return known;
  const made = startThread(moduleBeside('rank-process'), needsTypeScript(import.meta.url));
  made.on('message', say);
  threads.set(index, made);
  return made;
}

async function answer({ ticket, request }: Message, reply: (reply: Reply) => void): Promise<void> {
  const made: Reply = await answerTo(request).then(
    (value) => ({ ticket, answer: value }),
    (error: Error) => ({ ticket, error: encodeError(error) }),
  );
  reply(made);
}

async function answerTo(request: MemberRequest): Promise<unknown> {
  switch (request.type) {
    case 'join': {
      const { join, source, info } = request;
      const algorithm = source && (await loadAlgorithm(source, info.size));
      const exported = ((await import(join.module)) as Record<string, Join>)[join.export] as Join;
      const joined = await exported({ ...info, algorithm, options: join.options });
      members.set(info.group, joined);
      return joined.communicator.localRanks;
    }
    case 'refuses':
      return memberOf(request.group).communicator.refuses(request.collective, request.dtype);
    case 'execute': {
      const calls = request.calls.map(unpackCall);
      const before = calls.map(buffersOf);
      return packOutcomes(await executeCalls(memberOf(request.group).communicator, calls), before);
    }
    case 'close': {
      const { communicator, leave } = memberOf(request.group);
      await communicator.close();
      await leave();
      return undefined;
    }
  }
}

function memberOf(group: number): Joined {
  return members.get(group) as Joined;
}
