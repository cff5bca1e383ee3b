// A process of its own, which ends the ranks when their launcher was killed. It sees that from outside: a rank whose main thread waits
// for its peers would see nothing, and neither would a command that is no program of Node.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endGroup, groupEnds } from './process-group.js';

const graceSeconds = Number(process.argv[2]);
const folder = process.argv[3] as string;
const groups = new Set<number>();

// The launcher holds the other end: it says who came and who is gone, and closes it by ending, however it ends.
for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1));
  if (line.startsWith('+')) groups.add(pid);
  else groups.delete(pid);
}

rmSync(folder, { recursive: true, force: true });
await Promise.all(
  [...groups].map(async (pid) => {
    endGroup(pid, 'SIGTERM');
    if (!(await groupEnds(pid, graceSeconds))) endGroup(pid, 'SIGKILL');
  }),
);
