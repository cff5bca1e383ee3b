// A process of its own, which ends the ranks when their launcher was killed. Ranks could not notice that themselves: not while their main
// thread waits for peers, and not if they are commands other than Node.
import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { endGroup, groupEnds } from './process-group.js';

const graceSeconds = Number(process.argv[2]);
const folder = process.argv[3] as string;
const groups = new Set<number>();

// The launcher holds the other end: it says which groups came and went, and its end, however it comes, closes the pipe.
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
