import { parentPort } from 'node:worker_threads';
import { type Communicator, resolveEngine, type Tensor, type ThreadGroup } from '@coll/core';
import { viewOf } from '@coll/core/plugin';
import { executeCalls } from './execute-calls.js';
import type { Call } from './group.js';
import { buffersOf, type ExecutionReport, encodeError, type Reply, type Request } from './rank-messages.js';
import { loadAlgorithm } from './suite-algorithm.js';

// The entry of a rank's thread: joins groups and makes the requested calls.

const port = parentPort as NonNullable<typeof parentPort>;
const joined = new Map<number, JoinedRank>();

interface JoinedRank {
  readonly communicator: Communicator;
  readonly threads: ThreadGroup;
}

port.on('message', ({ ticket, request }: { ticket: number; request: Request }) => void reply(ticket, request));

async function reply(ticket: number, request: Request): Promise<void> {
  const made: Reply = await answerTo(request).then(
    (answer) => ({ ticket, answer }),
    (error: Error) => ({ ticket, error: encodeError(error) }),
  );
  port.postMessage(made);
}

async function answerTo(request: Request): Promise<unknown> {
  switch (request.type) {
    case 'join': {
      const { group, rank, threads, source, engineModule } = request;
      if (engineModule !== undefined) await import(engineModule);
      const algorithm = await loadAlgorithm(source, threads.size);
      const { engine } = resolveEngine(threads.engine);
      joined.set(group, { communicator: engine.join(threads, { rank, algorithm }), threads });
      return algorithm.name;
    }
    case 'refuses':
      return rankOf(request.group).communicator.refuses(request.collective, request.dtype);
    case 'execute':
      return execute(rankOf(request.group), request.calls);
    case 'reserve':
      return rankOf(request.group).communicator.group.allocate('uint8', request.bytes).data.byteOffset;
    case 'close':
      return rankOf(request.group).communicator.close();
    case 'inspect':
      return inspect(request.module, request.plugin);
  }
}

function rankOf(group: number): JoinedRank {
  return joined.get(group) as JoinedRank;
}

async function execute({ communicator, threads }: JoinedRank, calls: readonly Call[]): Promise<ExecutionReport> {
  const placed = calls.map((call) => (call.sharedAt ? placedInShared(call, threads) : call));
  const outcomes = await executeCalls(communicator, placed);
  return {
    outcomes: outcomes.map((outcome) => outcome && encodeError(outcome)),
    // Shared memory needs no copy, and a detached buffer cannot be posted.
    buffers: calls.map((call) =>
      buffersOf(call).map((buffer) => (buffer instanceof ArrayBuffer && buffer.byteLength > 0 ? buffer : undefined)),
    ),
  };
}

function placedInShared(call: Call, { arena }: ThreadGroup): Call {
  const { input = 0, output = 0 } = call.sharedAt ?? {};
  const at = (tensor: Tensor, offset: number): Tensor => ({
    ...tensor,
    data: viewOf(tensor.dtype, arena.wasm?.buffer ?? arena.bytes, offset, tensor.data.length),
  });
  return {
    ...call,
    inputs: call.inputs.map((tensor) => at(tensor, input)),
    outputs: call.outputs.map((tensor) => at(tensor, output)),
  };
}

/** The names of the exports of a module that are a plug-in with the name `plugin`. */
async function inspect(module: string, plugin: string): Promise<string[]> {
  const exported = Object.entries((await import(module)) as Record<string, unknown>);
  return exported
    .filter(([, value]) => {
      const { name, create } = Object(value) as { name?: unknown; create?: unknown };
      return name === plugin && typeof create === 'function';
    })
    .map(([name]) => name);
}
