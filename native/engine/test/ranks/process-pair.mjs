import { once } from 'node:events';
import net from 'node:net';
import { NativeProcessGroup, ProcessCommunicator, processBinding } from '@coll/native';

const binding = processBinding();
const { processes } = binding;
const size = 2;
const cores = 2;

/** Two members of a group in this thread, which work with `run`: over shared memory, or by messages. */
export async function openPair(transport, algorithm) {
  const [controls, data] = [await connection(), await connection()];
  const names = ['rank 0 here', 'rank 1 here'];
  const groups = controls.map((socket, rank) => {
    const sockets = rank === 0 ? [-1, socket] : [socket, -1];
    return new NativeProcessGroup(processes, { rank, sockets, names, heartbeatSeconds: 60 });
  });
  const memories = transport === 'shared memory' ? sharedMemories() : [];
  for (const [rank, group] of groups.entries()) {
    if (memories[rank]) group.playShared(memories[rank], cores);
    else {
      const sockets = rank === 0 ? [[], [data[0]]] : [[data[1]], []];
      const local = { number: rank, ranks: 2, cores };
      group.playMessages({ sockets, rings: [undefined, undefined], generation: 0, local, allShareCores: false });
    }
  }
  if (memories.length > 0) for (const socket of data) processes.closeSocket(socket);
  const communicators = groups.map((group, rank) => {
    return new ProcessCommunicator({ binding, group, algorithm, memory: memories[rank] });
  });
  const close = async () => {
    await Promise.all(groups.map((group) => group.close()));
    for (const memory of memories) processes.releaseMemory(memory);
  };
  return { communicators, close };
}

function sharedMemories() {
  const own = Array.from({ length: size }, () => processes.segment(0, size));
  return own.map(([segment], rank) => {
    const segments = own.map(([, card], other) => (other === rank ? segment : processes.openSegment(card, rank)));
    return processes.sharedMemory(rank, segments);
  });
}

/** Taken descriptors of both ends of a connection. */
async function connection() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = net.connect(server.address());
  const [[accepted]] = await Promise.all([once(server, 'connection'), once(client, 'connect')]);
  server.close();
  return [client, accepted].map((socket) => {
    socket.setNoDelay(true);
    const taken = processes.takeSocket(socket._handle.fd);
    socket.destroy();
    return taken;
  });
}
